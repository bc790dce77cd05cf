"""Change of embedding model: the next one's index is made beside, compared, and switched to (X10).

Order, so that a kill at any step leaves one model in use, whole, and the rest to go on from:
record what is wanted → encode into the next model's own cache, in the shadow → fill its index →
compare → the shadow leaves → one durable record says which model is in use → the engine goes over,
loading the next one while the last one answers → what older models left is deleted.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem.engine.caches import free_others
from skymem.engine.room import require_room
from skymem.engine.shadow import dismiss_shadow, shadow_of
from skymem.errors import (
    EngineUnavailableError,
    ModelParityError,
    SkymemError,
    UsageError,
)
from skymem.jobs.index import BATCH, FOLLOW_UP_SECONDS, index_agents
from skymem.jobs.index_run import Report, engine_of, reported, wait_until_whole
from skymem.jobs.indexed import Indexed
from skymem.jobs.parity import THRESHOLD, Parity, measure
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors, rag_pending
from skymem.stores.lock import held
from skymem.stores.model_record import (
    ModelRecord,
    UsedModel,
    model_in_use,
    read_record,
    write_record,
)

if TYPE_CHECKING:
    from skymem.engine.client import Engine

PASSES: Final = 4
"""How often it is looked for what came in while the index of the next model was made."""

GO_OVER_SECONDS: Final = 120.0
"""For the engine to load the model: sentence-transformers takes 8 s, on a busy machine more."""

LOOK_SECONDS: Final = 0.05
LOCK_SECONDS: Final = 1.0


class Beside(NamedTuple):
    """The engine that makes the next model's index."""

    engine: "Engine"
    dismiss: Callable[[], None]
    """Has it leave, and returns once it is gone."""


class Wanted(NamedTuple):
    """What to change to, and how."""

    model: str
    """What `engine.model` could say."""

    min_parity: float = THRESHOLD
    batch: int = BATCH


@dataclass(slots=True)
class Changed:
    """What a run came to: its detail, and what the command ends with."""

    detail: dict[str, Any]
    exit_code: int = 0


def beside(work: Workplace, model: str) -> Beside:
    """The shadow of the home, in a process of its own."""
    engine = shadow_of(work.paths, work.files, work.rules.engine, model, work.stop)
    return Beside(engine, lambda: dismiss_shadow(work.paths, work.files))


def asked_for(model: str) -> str:
    """The name or the absolute path that a person means, who may have given a relative one.

    Raises:
        UsageError: it is neither.
    """
    is_path = "/" in model or model.endswith(".onnx")
    if is_path and os.path.exists(model):
        return os.path.abspath(model)
    if not model.strip() or (is_path and not os.path.isabs(model)):
        raise UsageError(f"{model!r:.200} is neither a model's name nor a path that is there")
    return model


def migrate(
    work: Workplace,
    agents: Sequence[str],
    wanted: Wanted,
    make: Callable[[Workplace, str], Beside] = beside,
) -> Changed:
    """Go over to another model, all agents at once; a second call goes on where one was stopped.

    Args:
        work: the home.
        agents: everyone there is.
        wanted: the model, and how like the old one it has to be.
        make: gives the engine that makes the next index.

    Raises:
        BusyError: another change of model is under way.
        EngineUnavailableError: the model, or the one in use, can't be loaded.
        UsageError: the model is the one in use, under another name.
        DiskError: the disk refuses; the old model goes on.
        InterruptedRunError: a signal came; what is done stays.
    """
    with _alone(work), reported(work) as report:
        record, used = _begun(work, wanted.model)
        if used.model == wanted.model:
            _settle(work, agents, used.model)
            detail = _detail(work, agents, report)
            detail |= {"migrated": False, "why": f"{used.model} is the model in use"}
            return Changed(detail)
        side = make(work, wanted.model)
        try:
            _refuse_same(work, record, wanted.model, side.engine)
            parity, stopped = _make_beside(work, agents, wanted, side.engine, report)
            if stopped is None:
                key = str(side.engine.follow()["model_key"])
                side.dismiss()
                _switch(work, record, UsedModel(wanted.model, key))
        finally:
            with suppress(SkymemError):
                side.engine.leave()
        if stopped is None:
            _settle(work, agents, wanted.model)
        detail = _detail(work, agents, report)
        detail |= {"migrated": stopped is None, "from": used.model, "to": wanted.model}
        detail["parity"] = None if parity is None else parity.to_json()
        if stopped is None:
            detail.pop("why", None)
            return Changed(detail)
        return Changed(detail | {"ok": False, "error": stopped.error}, stopped.exit_code)


def _begun(work: Workplace, model: str) -> tuple[ModelRecord, UsedModel]:
    """Record what is wanted; returns the record and what is in use."""
    rules, record = work.rules.engine, read_record(work.paths)
    if record.used is None or not record.holds(rules):  # what is configured is in use
        record = ModelRecord(rules.model, rules.backend)
    name = record.used.model if record.used else rules.model
    used = UsedModel(name, _await_engine(work, name))
    record = replace(record, used=used)
    if model != name:
        require_model(work, model)
        record = replace(record, wanted=model)
        write_record(work.paths, work.files, record)
    return record, used


def _refuse_same(work: Workplace, record: ModelRecord, model: str, new: "Engine") -> None:
    """Have the model loaded; where it is no other one, or can't be, it is wanted no longer."""
    used = record.used
    try:
        if used is not None and str(new.follow()["model_key"]) == used.key:
            raise UsageError(f"{model} is the model in use, under another name")
    except (EngineUnavailableError, UsageError):
        write_record(work.paths, work.files, replace(record, wanted=""))
        raise


def _make_beside(
    work: Workplace, agents: Sequence[str], wanted: Wanted, new: "Engine", report: Report
) -> tuple[Parity | None, "_Stopped | None"]:
    """Fill the next model's index and compare; and why it may not be switched to, if so."""
    old = engine_of(work)
    # A copy: the cursors of the catalog are about the index in use, and stay with it.
    with replace(work, rehearsing=True).catalog() as catalog:
        report.results = _filled(work, catalog, agents, new, wanted.batch)
        for one in report.results:
            if one.error:
                return None, _Stopped(one.error, one.exit_code)
        _wait(work, new, report.results)
        work.tell("index: comparing the answers of both models")
        parity = measure(work, catalog, agents, (old, new), wanted.min_parity)
    if parity.holds:
        return parity, None
    error = ModelParityError(model_in_use(work.rules.engine, work.paths).model, parity.words())
    return parity, _Stopped(str(error), error.exit_code)


def _filled(
    work: Workplace, catalog: Catalog, agents: Sequence[str], new: "Engine", batch: int
) -> list[Indexed]:
    """Hand everything over, and again what came in meanwhile."""
    results = index_agents(work, catalog, agents, new, batch=batch)
    for _ in range(PASSES):
        if any(one.error for one in results):
            break
        again = index_agents(work, catalog, agents, new, batch=batch)
        for first, then in zip(results, again, strict=True):
            first.embedded += then.embedded
            first.chunks += then.chunks
            first.error, first.exit_code = then.error, then.exit_code
        if not any(one.embedded for one in again):
            break
    return results


def _wait(work: Workplace, new: "Engine", results: Sequence[Indexed]) -> None:
    """Wait until the next model's index is whole.

    Raises:
        DiskError: there is no room for it.
        EngineUnavailableError: it does not get on.
    """
    before = len(work.degraded)
    wait_until_whole(work, new, results)
    if work.degraded[before:]:
        require_room(work.paths.rag, 0)
        raise EngineUnavailableError(work.degraded[-1])


# -- rollback -------------------------------------------------------------------------------------


def rollback(work: Workplace, agents: Sequence[str]) -> Changed:
    """Go back to the model that was in use before; its index and vectors are there.

    Raises:
        UsageError: there is none to go back to.
        BusyError, EngineUnavailableError, DiskError: as `migrate`.
    """
    with _alone(work), reported(work) as report:
        record, used, previous = _to_go_back_to(work)
        require_model(work, previous.model)
        dismiss_shadow(work.paths, work.files)
        _switch(work, replace(record, used=used), previous)
        _settle(work, agents, previous.model, free=False)
        detail = _detail(work, agents, report)
        detail.pop("why", None)
        return Changed(detail | {"rolled_back": True, "from": used.model, "to": previous.model})


def _to_go_back_to(work: Workplace) -> tuple[ModelRecord, UsedModel, UsedModel]:
    record = read_record(work.paths)
    if record.used is None or record.previous is None:
        raise UsageError("there is no model to go back to: none was switched to here")
    if model_in_use(work.rules.engine, work.paths).model != record.used.model:
        raise UsageError(
            "there is no model to go back to: engine.model or engine.backend was changed since "
            f"the last switch; go over with: skymem index --migrate {record.previous.model}"
        )
    return record, record.used, record.previous


# -- what both do ---------------------------------------------------------------------------------


class _Stopped(NamedTuple):
    """Why the old model goes on."""

    error: str
    exit_code: int


@contextmanager
def _alone(work: Workplace) -> Iterator[None]:
    """One change of model at a time."""
    work.files.make_directory(work.paths.run)
    path = work.paths.run / "migrate.lock"
    with held(path, "index --migrate", deadline_seconds=LOCK_SECONDS, stop=work.stop):
        yield


def _switch(work: Workplace, record: ModelRecord, to: UsedModel) -> None:
    """The one step that counts: before it the old model is in use, after it the new one."""
    work.check_stop()
    wanted = "" if record.wanted == to.model else record.wanted
    write_record(
        work.paths,
        work.files,
        replace(
            record,
            configured=work.rules.engine.model,
            backend=work.rules.engine.backend,
            used=to,
            previous=record.used,
            wanted=wanted,
            switched=work.now(),
        ),
    )


def _settle(work: Workplace, agents: Sequence[str], model: str, *, free: bool = True) -> None:
    """What follows on a switch, and a kill may leave for the next time."""
    key = _await_engine(work, model)
    with work.catalog() as catalog:
        deadline = time.monotonic() + FOLLOW_UP_SECONDS
        for result in index_agents(work, catalog, agents, engine_of(work), deadline=deadline):
            if result.error:
                work.degrade(f"index: {result.error}")
    previous = read_record(work.paths).previous
    if free and previous is not None:
        try:
            free_others(work.paths, {key, previous.key}, work.files)
        except SkymemError as error:
            work.degrade(f"index: what older models left stays: {error}")


def _await_engine(work: Workplace, model: str) -> str:
    """Have the engine go over to the model in use; returns the key of its cache.

    Raises:
        EngineUnavailableError: it does not.
    """
    engine, deadline = engine_of(work), time.monotonic() + GO_OVER_SECONDS
    refused, why = 0, ""
    while True:
        try:
            facts = engine.follow()
            if facts["setting"] == model:
                return str(facts["model_key"])
            why = f"{facts['setting']} still answers; run/engine.log says why"
        except EngineUnavailableError:  # it has no model at all: another process may have one
            refused += 1
            if refused > 1:
                raise
            engine.leave()
        if time.monotonic() > deadline:
            raise EngineUnavailableError(f"it does not go over to {model}: {why}")
        time.sleep(LOOK_SECONDS)


def require_model(work: Workplace, model: str) -> None:
    """Look for a model's files without loading it.

    Raises:
        EngineUnavailableError: they are not there; of one that may be downloaded nothing is known.
    """
    from skymem.engine.models import find_directory, find_onnx

    rules = work.rules.engine._replace(model=model)
    if not rules.download:
        (find_onnx if rules.backend == "onnx" else find_directory)(rules, work.paths.models)


def rehearse(work: Workplace, agents: Sequence[str], model: str) -> Changed:
    """Say what a change would do: how many memories there are, and that the model is here.

    Raises:
        EngineUnavailableError, UsageError: it would be refused at once.
    """
    with reported(work) as report, work.catalog() as catalog:
        if not model:
            model = _to_go_back_to(work)[2].model
        require_model(work, model)
        tiers = ("long", "archive") if work.rules.engine.recent else ("long",)
        for agent in agents:
            one = Indexed(agent)
            work.ask(catalog, work.shelf(agent), lambda: None)
            cursors = IndexCursors(catalog, agent, "")
            one.eligible = one.pending = sum(cursors.owed(tier) for tier in tiers)
            report.results.append(one)
        detail = report.detail(_pending(work, catalog, agents), work.degraded)
    used = model_in_use(work.rules.engine, work.paths).model
    detail["why"] = f"{used} is in use, and {model} is here"
    return Changed(detail | {"dry_run": True, "from": used, "to": model})


def _detail(work: Workplace, agents: Sequence[str], report: Report) -> dict[str, Any]:
    report.look(engine_of(work))
    if not report.results:
        report.results = [Indexed(agent) for agent in agents]
    with work.catalog() as catalog:
        pending = _pending(work, catalog, agents)
    return report.detail(pending, work.degraded)


def _pending(work: Workplace, catalog: Catalog, agents: Sequence[str]) -> int:
    return sum(rag_pending(work.paths, catalog, agent) for agent in agents)
