"""A ledger whose entries are not as we write them stops nobody: `verify` names it, others pass."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from skymem import app, upkeep
from skymem.cli.audit_verbs import entry_line
from skymem.jobs.account import Account
from skymem.jobs.fsck import fsck
from skymem.jobs.undo import UNDOABLE, recorded
from skymem.model.rules import BudgetRules, PruneRules, RetentionRules
from skymem.stores.audit_log import Wanted, log
from skymem.stores.catalog import Catalog
from skymem.stores.entries import well_formed
from skymem.stores.files import Files
from skymem.stores.history import history_of
from skymem.stores.ledger import Ledger
from tests.conftest import Desk, line
from tests.faults.faulty import DyingFiles, PowerCut
from tests.faults.sweep import as_if_from_another_process

JUNK: Final[tuple[Any, ...]] = (None, 7, -0.5, 1e300, True, "x", "\ud800", [], [7], {}, [["x"]])


def lines(desk: Desk) -> list[bytes]:
    return (desk.paths.audit / "ledger.jsonl").read_bytes().splitlines(keepends=True)


def put_back(desk: Desk, whole: bytes) -> None:
    """Let the ledger be whole again, whose end the note of the last entry does not know."""
    (desk.paths.audit / "ledger.jsonl").write_bytes(whole)
    (desk.paths.state / "ledger_head.json").unlink()


@pytest.fixture
def entries(desk: Desk) -> list[dict[str, Any]]:
    """One of every sort of entry, the last of them of a run that was killed."""
    app.init_home(desk.paths.root)
    home = app.open_home(str(desk.paths.root))
    desk.tiers.long_term.write_bytes(line("dull", 0.1) + line("dull too", 0.1))
    desk.echo(line("worth", 0.9, id="w"), b"damage\n")
    desk.rules = RetentionRules(prune=PruneRules(1.0, 0.3), budget=BudgetRules(per_run=1.0))
    desk.run("promote")
    desk.clock += 86_400
    assert desk.run("prune")["acted"] == 2
    desk.clock = app.now()
    upkeep.correct_memory(home, "sky", "w", "worth more")
    upkeep.pin_memory(home, "sky", "w")
    upkeep.undo_run(home, None, ["sky"])
    desk.echo(line("again", 0.9), line("edited", 0.1))
    desk.run("promote")
    *_, drain = desk.shelf().drains.names()
    drain.write_bytes(drain.read_bytes() + b"torn")
    desk.short_term.write_bytes(line("by hand", 0.1))
    desk.clock += 86_400
    desk.run("promote")
    desk.echo(line("cut", 0.9))
    desk.files = DyingFiles(16)
    with pytest.raises(PowerCut):
        desk.run("promote")
    desk.files = Files()
    as_if_from_another_process(desk.paths.root)
    found = [json.loads(one) for one in lines(desk)]
    ops = [one["op"] for one in found]
    assert ops.count("begin") == ops.count("end") + 1
    assert set(ops) == {
        "adopt", "remember", "edited outside", "begin", "decide", "add", "moved", "end", "pin",
        "quarantine",
    }  # fmt: skip
    return found


def test_whatever_we_write_is_well_formed(entries: list[dict[str, Any]]) -> None:
    assert all(well_formed(entry) for entry in entries)


def spoilt(value: Any) -> Iterator[Any]:
    """The value with one thing in it, or it itself, left out or replaced."""
    yield from (junk for junk in JUNK if junk != value)
    if isinstance(value, dict):
        for key in value:
            yield {own: inner for own, inner in value.items() if own != key}
            for other in spoilt(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield [*value[:at], *value[at + 1 :]]
            for other in spoilt(value[at]):
                yield [*value[:at], other, *value[at + 1 :]]


def read(ledger: Ledger) -> None:
    """Whoever reads the ledger, but for those who act on it."""
    with closing(Account()) as account:
        for _, entry in ledger.read_from(0):
            account.tell(entry)
        assert all(not fate.changed for fate in account.fates("sky"))
    with closing(Catalog.in_memory()) as catalog:
        for begin in catalog.open_runs("sky", ledger):
            assert begin["run"]
        assert all(ts > 0 for ts, _ in catalog.judged_runs("sky", ledger))
    for entry in log(ledger, Wanted(since=1.0), 1000):
        assert entry_line(entry)
    log(ledger, Wanted(agent="sky", id="w"), 1000)
    assert all(event.what for event in history_of(ledger, "sky", "w"))
    for _, entry in ledger.read_from(0):
        if entry["op"] == "begin" and entry["job"] in UNDOABLE:
            recorded(ledger, entry["run"], [entry["agent"]])


def test_nobody_stumbles_over_an_entry_that_was_meddled_with(
    desk: Desk, entries: list[dict[str, Any]]
) -> None:
    path = desk.paths.audit / "ledger.jsonl"
    whole = path.read_bytes()
    ledger = desk.work().ledger()
    for entry in entries:
        for other in spoilt(entry):
            path.write_bytes(json.dumps(other).encode() + b"\n")
            read(ledger)
    put_back(desk, whole)


def test_fsck_finishes_a_run_whose_beginning_was_meddled_with_or_passes_it_over(
    desk: Desk, entries: list[dict[str, Any]]
) -> None:
    path = desk.paths.audit / "ledger.jsonl"
    whole = path.read_bytes()
    before = lines(desk)
    at = max(at for at, entry in enumerate(entries) if entry["op"] == "begin")
    for key in entries[at]:
        for junk in (None, "x", [], [7]):
            desk.delete_catalog()
            meddled = json.dumps({**entries[at], key: junk}).encode() + b"\n"
            path.write_bytes(b"".join([*before[:at], meddled, *before[at + 1 :]]))
            found = fsck(desk.work(), ["sky"]).problems
            assert {one["what"] for one in found} >= {"ledger"}
            assert {one["what"] for one in found} <= {"ledger", "moved outside", "key"}
    put_back(desk, whole)
