"""Laws of taking back: of any home, an undone run leaves the very bytes that were there."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skymem.jobs import runner
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.restore import restore
from skymem.jobs.undo import undo
from skymem.model.rules import AgentRules, BudgetRules, PruneRules, RetentionRules
from skymem.stores.home import HomePaths
from tests.conftest import START, Desk

DAY = 86_400.0
MEMORY = Path("/dev/shm")
JOBS = ["promote", "rotate", "prune", "compress", "merge", "forget"]
SPELLINGS = ["ts", "tight", "timestamp", "spaced", "wide", "unicode", "crlf"]
USUAL: dict[str, dict[str, Any]] = {
    "merge": {"kind": "log", "stability": "volatile"},
    "compress": {"kind": "fact"},
}
"""What old memories are so that the job has something to do."""

TO_TRASH = ["prune", "forget"]
FILES = ["", "long_term.jsonl", "short_term_archive_20231101T000000Z.jsonl"]
RULES = RetentionRules(
    AgentRules(0.7, 1),
    prune=PruneRules(30 * DAY, 0.3),
    budget=BudgetRules(per_run=1.0, per_30_days=1.0),
)

memory = st.fixed_dictionaries(
    {
        "file": st.sampled_from(FILES),
        "age": st.integers(0, 60),
        "importance": st.sampled_from([0.1, 0.5, 0.9]),
        "spelling": st.sampled_from(
            ["ts", "tight", "timestamp", "spaced", "wide", "unicode", "crlf"]
        ),
    },
    optional={
        "id": st.booleans(),
        "kind": st.sampled_from(["fact", "preference", "log", "project"]),
        "ttl_days": st.sampled_from([1, 20]),
        "stability": st.sampled_from(["volatile", "permanent"]),
        "pinned": st.just(True),
        "supersedes": st.integers(0, 11),
        "tags": st.just(["project:apollo"]),
    },
)
homes = st.lists(memory, min_size=1, max_size=12)


def spelled(number: int, fields: dict[str, Any]) -> bytes:
    """A line in one of the ways that writers spell one."""
    fields = dict(fields)
    spelling, at = fields.pop("spelling"), START - fields.pop("age") * DAY
    importance = fields.pop("importance")
    own = {"content": f"m{number} costs {number} kr"}
    if fields.pop("id", False) or fields.get("pinned"):
        own["id"] = f"i{number}"
    if "supersedes" in fields:
        fields["supersedes"] = [f"i{fields['supersedes']}"]
    if spelling == "timestamp":
        whole = {"timestamp": "2023-11-01T12:00:00Z", **own, "score": round(importance * 10)}
        return json.dumps({**whole, **fields}).encode() + b"\n"
    whole = {"ts": at, "type": "short", **own, "importance": importance, **fields}
    if spelling == "unicode":
        whole["note"] = "snø – 雪"
        return json.dumps(whole, ensure_ascii=False).encode() + b"\n"
    spaced = json.dumps(whole, separators=(" ,  ", " :")).encode()
    tight = json.dumps(whole, separators=(",", ":")).encode()
    return {
        "crlf": tight + b"\r\n",
        "tight": tight + b"\n",
        "spaced": spaced + b"\n",
        "wide": b"  " + spaced + b" \n",
        "ts": json.dumps(whole).encode() + b"\n",
    }[spelling]


@contextmanager
def home_of(memories: list[dict[str, Any]]) -> Iterator[Desk]:
    """A home with these memories."""
    base = Path(tempfile.mkdtemp(prefix="skymem-undo-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        desk = Desk(HomePaths(base / "home"), RULES)
        desk.shelf().ensure()
        for number, one in enumerate(memories):
            fields = dict(one)
            path = desk.tiers.directory / (fields.pop("file") or "short_term.jsonl")
            with path.open("ab") as stream:
                stream.write(spelled(number, fields))
        yield desk
        assert not desk.work().ledger().verify()[1]
    finally:
        shutil.rmtree(base)


def tiers(desk: Desk) -> dict[str, bytes]:
    """The tiers' files that hold anything."""
    found = [path for tier in ("short", "long", "archive") for path in desk.files_of(tier)]
    return {path.name: path.read_bytes() for path in found if path.stat().st_size}


def run(desk: Desk, job: str) -> list[str]:
    """Run a job; the names of its runs."""
    table = {"forget": forget(Wanted((), re.compile("m[135]")))}
    if job != "forget":
        detail = desk.run(job)
        assert detail["ok"], detail
        return list(detail["agents"]["sky"]["runs"])
    desk.clock += 1
    detail, _ = runner.run(desk.work(), "forget", ["sky"], table=table)
    return list(detail["agents"]["sky"]["runs"])


bounded = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("job", JOBS)
def test_an_undone_run_leaves_every_tier_as_it_was(job: str) -> None:
    acted = 0

    @bounded
    @given(homes)
    def holds(memories: list[dict[str, Any]]) -> None:
        nonlocal acted
        if job not in TO_TRASH:  # what moves to a tier loses the spaces around it, and undo says so
            memories = [one for one in memories if one["spelling"] != "wide"]
        usual = USUAL.get(job, {})
        memories = [{**one, **usual} if one["age"] > 20 else one for one in memories]
        with home_of(memories) as desk:
            before = tiers(desk)
            runs = run(desk, job)
            changed = tiers(desk) != before
            for name in reversed(runs if changed else []):
                detail = undo(desk.work(), name, ["sky"])
                assert not detail["left"], detail
            acted += changed
            assert tiers(desk) == before

    holds()
    assert acted, "no run ever did anything"


@bounded
@given(homes, st.randoms(use_true_random=False))
def test_what_prune_took_is_restored_to_the_byte_in_any_order(
    memories: list[dict[str, Any]], chance: Any
) -> None:
    with home_of(memories) as desk:
        before = {name: sorted(data.splitlines()) for name, data in tiers(desk).items()}
        run(desk, "prune")
        lying = [held.id for held in desk.shelf().trash.all()]
        chance.shuffle(lying)
        for name in lying:
            restore(desk.work(), "sky", [name])
        assert {name: sorted(data.splitlines()) for name, data in tiers(desk).items()} == before
        assert not list(desk.shelf().trash.all())
        again = desk.run("prune")
        assert not again["acted"], "what was restored goes by the same gate"
