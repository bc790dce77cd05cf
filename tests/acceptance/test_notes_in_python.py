"""Notes and profiles under the names of the source documents (rows N4 to N10, R9, R10)."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skymem
from skymem import (
    compress_short_to_long,
    get_notes,
    merge_notes,
    prune_expired,
    remember_short,
    upsert_user_profile,
    write_note,
)
from skymem.app import init_home
from skymem.errors import (
    BusyError,
    HomeNotFoundError,
    InvalidMemoryError,
    SkymemError,
    UnknownMemoryError,
    UsageError,
)
from skymem.stores.lock import held

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, found by `$SKYMEM_HOME`."""
    made = tmp_path / "home"
    init_home(made)
    monkeypatch.setenv("SKYMEM_HOME", str(made))
    return made


def lines(home: Path, tier: str = "short", agent: str = "sky") -> list[dict[str, Any]]:
    path = home / "memory" / agent / f"{tier}_term.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# -- notes ------------------------------------------------------------------------------------


def test_a_note_is_written_with_the_defaults_of_the_source(home: Path) -> None:
    note = write_note("log", "Asked for a report")
    (line,) = lines(home)

    assert (line["kind"], line["scope"], line["stability"]) == ("log", "user", "stable")
    assert "ttl_days" not in line
    assert (note.confidence, note.sensitivity, note.expires_at) == (1.0, "normal", None)
    assert get_notes() == [note]


def test_the_names_and_defaults_are_those_of_the_rows() -> None:
    written = inspect.signature(write_note).parameters
    wanted = inspect.signature(get_notes).parameters

    assert [*written] == [
        "kind", "content", "scope", "user_id", "tags", "confidence", "stability", "ttl_days",
        "sensitivity", "evidence", "job_id",
    ]  # fmt: skip
    assert (written["scope"].default, written["stability"].default) == ("user", "stable")
    assert [*wanted] == ["user_id", "kind", "scope", "tags", "limit"]
    assert wanted["limit"].default == 50
    assert inspect.signature(compress_short_to_long).parameters["cutoff_hours"].default == 48


def test_a_volatile_note_without_a_ttl_warns_where_it_is_written(home: Path) -> None:
    for write in (write_note, skymem.open_memory().write_note):
        with pytest.warns(UserWarning, match="without a ttl") as caught:
            write("log", "x", stability="volatile")
        assert caught[0].filename == __file__
    assert len(lines(home)) == 2


def test_a_handle_writes_and_reads_its_own_agents_notes(home: Path) -> None:
    memory = skymem.open_memory(agent="hobbs")
    memory.write_note("rule", "Run the tests", confidence=0.8, evidence="docs/ci.md", tags="ci")

    assert [note.tags for note in memory.get_notes(tags="ci")] == [("ci",)]
    assert get_notes() == []
    assert lines(home, agent="hobbs")[0]["evidence"] == ["docs/ci.md"]


def test_the_agent_of_the_environment_is_whose_notes_they_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_AGENT", "hobbs")
    write_note("log", "x")

    assert len(lines(home, agent="hobbs")) == 1
    assert [note.content for note in get_notes()] == ["x"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: write_note("log", "x", colour="red"),  # type: ignore[call-arg]
        lambda: skymem.open_memory().write_note("log", "x", colour="red"),  # type: ignore[call-arg]
        lambda: get_notes(colour="red"),  # type: ignore[call-arg]
        lambda: upsert_user_profile(evidence_ids=["x"], colour=["red"]),  # type: ignore[call-arg]
        lambda: compress_short_to_long(hours=2),  # type: ignore[call-arg]
        lambda: prune_expired(all=True),  # type: ignore[call-arg]
    ],
)
def test_an_unknown_keyword_raises(home: Path, call: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        call()
    assert lines(home) == []


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2.5, True])
def test_a_limit_outside_its_range_is_refused(home: Path, limit: Any) -> None:
    with pytest.raises(UsageError, match="limit"):
        get_notes(limit=limit)


def test_what_expires_is_gone_at_that_very_moment_and_pruned_later(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.app.now", lambda: NOW)
    write_note("log", "a day", stability="volatile", ttl_days=1)
    write_note("log", "for good")
    monkeypatch.setattr("skymem.app.now", lambda: NOW + DAY - 0.001)
    before = [note.content for note in get_notes()]
    monkeypatch.setattr("skymem.app.now", lambda: NOW + DAY)

    assert sorted(before) == ["a day", "for good"]
    assert [note.content for note in get_notes()] == ["for good"]
    assert [line["content"] for line in lines(home)] == ["a day", "for good"]
    assert prune_expired() == 1
    assert prune_expired() == 0
    assert [line["content"] for line in lines(home)] == ["for good"]


def test_merged_notes_are_superseded_by_their_summary(home: Path) -> None:
    one, two = write_note("log", "one"), write_note("log", "two")
    summary = merge_notes([one, two.id])

    assert (summary.kind, summary.tier) == ("summary", "long")
    assert {*summary.supersedes} == {*summary.evidence_ids} == {one.id, two.id}
    assert get_notes() == [summary]
    with pytest.raises(InvalidMemoryError, match="superseded"):
        merge_notes([one, two])
    with pytest.raises(InvalidMemoryError, match="two notes or more"):
        merge_notes([summary])
    with pytest.raises(UnknownMemoryError):
        merge_notes([summary, "nobody"])


def test_a_failure_is_raised_by_its_own_class(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = write_note("log", "one"), write_note("log", "two")
    monkeypatch.setattr("skymem.jobs.workplace.JOB_LOCK_SECONDS", 0.05)
    lock = skymem.open_memory()._home.paths.job_lock("sky")
    lock.parent.mkdir(exist_ok=True)
    with held(lock, "another", deadline_seconds=1):
        for call in (prune_expired, lambda: merge_notes([one, two])):
            with pytest.raises(BusyError, match="another"):
                call()
    assert {note.content for note in get_notes()} == {"one", "two"}


def test_without_a_home_the_error_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (get_notes, prune_expired, lambda: write_note("log", "x")):
        with pytest.raises(HomeNotFoundError, match="skymem init"):
            call()


ONE = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["log", "rule", "soul", "user"]),
        "ts": st.sampled_from([NOW - age * DAY for age in (0.5, 1, 2, 9, 40)]),
        "tier": st.sampled_from(["short", "long", "archive"]),
    },
    optional={
        "ttl_days": st.sampled_from([0.5, 1, 7, 30]),
        "stability": st.sampled_from(["volatile", "stable", "permanent"]),
        "user_id": st.sampled_from(["ann", "bob"]),
        "supersedes": st.lists(st.integers(0, 11).map(str), max_size=2),
    },
)
FILES = {
    "short": "short_term.jsonl",
    "long": "long_term.jsonl",
    "archive": "short_term_archive_20261128T000000Z.jsonl",
}


def active(found: list[dict[str, Any]]) -> set[str]:
    """What holds, worked out the long way."""
    alive = [
        one
        for one in found
        if one.get("stability") == "permanent"
        or "ttl_days" not in one
        or one["ts"] + one["ttl_days"] * DAY > NOW
    ]
    replaced = {name for one in found for name in one.get("supersedes", ())}
    heads = [one for one in alive if one["id"] not in replaced]

    def is_outdone(one: dict[str, Any]) -> bool:
        return one["kind"] in ("soul", "user") and any(
            (other["kind"], other.get("user_id")) == (one["kind"], one.get("user_id"))
            and (other["ts"], other["id"]) > (one["ts"], one["id"])
            for other in heads
        )

    return {one["id"] for one in heads if not is_outdone(one)}


@given(made=st.lists(ONE, max_size=12))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_read_is_what_holds_and_nothing_that_expired_or_was_superseded(
    home: Path, monkeypatch: pytest.MonkeyPatch, made: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr("skymem.app.now", lambda: NOW)
    directory = home / "memory/sky"
    for path in directory.glob("*.jsonl"):
        path.unlink()
    found = []
    for place, given_fields in enumerate(made):
        one = {**given_fields, "id": str(place), "content": f"note {place}"}
        older = [name for name in one.get("supersedes", ()) if int(name) < place]  # no rings
        one = {**one, "supersedes": older} if older else one
        one |= {} if older else {"supersedes": []}
        found.append(one)
        tier = one.pop("tier")
        with (directory / FILES[tier]).open("a") as stream:
            stream.write(json.dumps({"type": "short", **one}) + "\n")

    notes = get_notes()

    assert {note.id for note in notes} == active(found)
    assert len(notes) == len({note.id for note in notes})
    assert [note.ts for note in notes] == sorted((note.ts or 0 for note in notes), reverse=True)


# -- profiles ---------------------------------------------------------------------------------


def texts(said: Any) -> dict[str, list[str]]:
    return {name: [one.text for one in found] for name, found in said.lists.items() if found}


def test_older_memories_are_compressed_whatever_the_rules_say_of_age(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = skymem.open_memory()
    monkeypatch.setattr("skymem.app.now", lambda: NOW)
    memory.remember("User prefers tea.", kind="preference", ts=NOW - 3 * 3600)
    memory.remember("User lives in Oslo.", kind="fact", ts=NOW - 3600)

    assert compress_short_to_long()["compressed"] == 0
    assert compress_short_to_long(cutoff_hours=2)["compressed"] == 1
    assert [line["content"] for line in lines(home)] == ["User lives in Oslo."]
    assert lines(home, "long")[0]["record_type"] == "profile"


@pytest.mark.parametrize("hours", [-1, float("nan"), float("inf"), "2", None, True])
def test_hours_that_are_none_are_refused(home: Path, hours: Any) -> None:
    with pytest.raises(UsageError, match="cutoff_hours"):
        compress_short_to_long(hours)


def test_a_profile_rests_on_memories_and_takes_up_what_was_known(home: Path) -> None:
    memory = skymem.open_memory()
    tea = memory.remember("User prefers tea.", kind="preference")
    compress_short_to_long(0)
    (first,) = lines(home, "long")
    seven = remember_short("User wants the daily report at 7am")
    second = upsert_user_profile(
        preferences=["Report at 7am", "daily report"], evidence_ids=[seven]
    )
    again = upsert_user_profile(preferences=["Report at 7am"], evidence_ids=[seven[:10]])

    assert texts(second) == {"preferences": ["User prefers tea.", "Report at 7am", "daily report"]}
    assert {*second.evidence_ids} == {tea, seven}
    assert lines(home, "long")[-1]["supersedes"] == [first["id"]]
    quoted = second.lists["preferences"][2]
    assert "User wants the daily report at 7am"[slice(*quoted.span)] == quoted.text
    assert (again, len(lines(home, "long"))) == (second, 2)


def test_what_a_profile_says_stays_through_the_next_compress(home: Path) -> None:
    seven = skymem.open_memory().remember("User wants the report at 7am", kind="fact")
    upsert_user_profile(preferences=["Report at 7am"], evidence_ids=[seven])
    compress_short_to_long(0)
    record = lines(home, "long")[-1]

    assert [one["text"] for one in record["payload"]["preferences"]] == ["Report at 7am"]
    assert record["evidence_ids"] == [seven]


@pytest.mark.parametrize("evidence", [[], "", "c1dbbfd1", None])
def test_a_profile_without_evidence_is_refused(home: Path, evidence: Any) -> None:
    with pytest.raises(InvalidMemoryError, match="evidence_ids"):
        upsert_user_profile(preferences=["tea"], evidence_ids=evidence)
    with pytest.raises(TypeError):
        upsert_user_profile(preferences=["tea"])  # type: ignore[call-arg]
    assert lines(home, "long") == []


def test_evidence_has_to_be_there_hold_and_bear_what_is_said(home: Path) -> None:
    name = write_note("fact", "User wants the report at 7am", user_id="ann").id
    other = write_note("fact", "Tea", user_id="bob").id
    old = write_note("soul", "old").id
    write_note("soul", "new")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"evidence_ids": ["nobody"]}, "nobody"),
        ({"evidence_ids": [old]}, f"{old} is superseded"),
        ({"evidence_ids": [name], "preferences": ["Report at 8am"]}, r"preferences\[0\].*8:00"),
        ({"evidence_ids": [name], "stable_facts": ["ok", " "]}, r"stable_facts\[1\].*no text"),
        ({"evidence_ids": [name], "do_not_assume": "text"}, "not a list of texts"),
        ({"evidence_ids": [name, other]}, "not of one user_id"),
        ({"evidence_ids": [name], "user_id": "bob"}, "not of one user_id"),
    ]
    for given_fields, says in refused:
        with pytest.raises(SkymemError, match=says):
            upsert_user_profile(**given_fields)
    assert lines(home, "long") == []


def test_what_is_sensitive_has_a_profile_of_its_own(home: Path) -> None:
    plain = write_note("fact", "User lives in Oslo.", user_id="ann")
    secret = write_note("fact", "User has asthma.", user_id="ann", sensitivity="sensitive")
    upsert_user_profile(stable_facts=["lives in Oslo"], evidence_ids=[plain.id])
    made = upsert_user_profile(stable_facts=["has asthma"], evidence_ids=[secret.id])

    assert (made.sensitive, made.user_id) == (True, "ann")
    assert texts(made) == {"stable_facts": ["has asthma"]}
    assert "supersedes" not in lines(home, "long")[-1]
