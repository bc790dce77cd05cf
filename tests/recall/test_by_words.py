"""Mode `deterministic`: every tier, each memory once, in the order of row R2's formula."""

import json
import os
from typing import Any

import pytest

from skymem.recall.best import WAITING_MAX
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Shelf
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings

HOUR = 3600.0
DETERMINISTIC = {"mode": "deterministic"}


def texts(found: Any) -> list[str]:
    return [one.content for one in found]


def put(desk: Desk, name: str, *lines: bytes) -> None:
    with (desk.tiers.directory / name).open("ab") as stream:
        stream.write(b"".join(lines))


ARCHIVE = "short_term_archive_20231114.jsonl"


def test_all_tiers_answer_in_one_list(desk: Desk, ask: Ask) -> None:
    put(desk, "long_term.jsonl", line("report in long-term", 0.5, id="l"))
    put(desk, ARCHIVE, line("report in an archive", 0.4, id="a"))
    desk.echo(line("report in short-term", 0.3, id="s"), line("something else", 0.2, id="e"))
    found = ask("REPORT?", **DETERMINISTIC)

    assert [(one.id, one.tier) for one in found] == [
        ("l", "long"),
        ("a", "archive"),
        ("s", "short"),
        ("e", "short"),
    ]
    assert (found.mode, found.degraded) == ("deterministic", [])


def test_a_result_says_what_its_score_is_made_of(desk: Desk, ask: Ask) -> None:
    desk.clock = START + 3 * HOUR
    desk.echo(line("user wants reports", 0.8, tags=["daily"], kind="preference", id="x"))
    told = ask("daily reports, please: at 7", **DETERMINISTIC).as_json()

    assert told["results"] == [
        {
            "id": "x",
            "tier": "short",
            "content": "user wants reports",
            "score": 0.4675,  # 0.4 * 0.65 + 0.25 * 0.35 + 0.8 * 0.15
            "parts": {
                "text": 0.4,
                "recency": 0.25,
                "importance": 0.8,
                "deterministic": 0.4675,
                "semantic": None,
            },
            "ts": START,
            "tags": ["daily"],
            "kind": "preference",
        }
    ]


def test_a_memory_without_importance_or_time_has_the_guides_and_no_recency(
    desk: Desk, ask: Ask
) -> None:
    desk.echo(b'{"content": "a report", "kind": "decision"}\n')
    (found,) = ask("report", **DETERMINISTIC)

    assert (found.ts, found.parts.recency, found.parts.importance) == (None, 0.0, 0.8)
    assert found.score == pytest.approx(0.65 + 0.12)


def test_a_memory_that_shares_no_word_comes_last_with_its_recency(desk: Desk, ask: Ask) -> None:
    desk.echo(line("nothing of the sort", 0.0), line("a report", 0.0))
    found = ask("report", **DETERMINISTIC)

    assert texts(found) == ["a report", "nothing of the sort"]
    assert found[1].score == pytest.approx(0.35)


@pytest.mark.parametrize("query", ["", "  ", "?!…", "🙂"])
@pytest.mark.parametrize("mode", ["deterministic", "hybrid", "auto"])
def test_a_query_without_a_word_returns_nothing(
    desk: Desk, ask: Ask, query: str, mode: str
) -> None:
    desk.echo(line("something", 1.0))

    assert ask(query, mode=mode) == []


def test_the_bias_is_the_share_of_recency(desk: Desk, ask: Ask) -> None:
    desk.echo(line("old report", 0.5, ts=START - 99 * HOUR), line("new thing", 0.5))

    assert texts(ask("report", recency_bias=0.0, **DETERMINISTIC)) == ["old report", "new thing"]
    assert texts(ask("report", recency_bias=1.0, **DETERMINISTIC)) == ["new thing", "old report"]


def test_scripts_without_spaces_are_found_by_two_letters(desk: Desk, ask: Ask) -> None:
    desk.echo(line("明日は会議があります", 0.5), line("お茶を飲みます", 0.6))

    assert texts(ask("会議", **DETERMINISTIC))[0] == "明日は会議があります"


def test_the_text_in_a_structured_record_is_found_and_comes_with_it(desk: Desk, ask: Ask) -> None:
    record = {"ts": START, "record_type": "profile", "payload": {"facts": ["likes espresso"]}}
    desk.echo(line("tea", 0.5), json.dumps({**record, "importance": 0.4}).encode() + b"\n")
    found = ask("espresso", **DETERMINISTIC)[0]

    assert (found.content, found.parts.text) == ("", 1.0)
    assert found.as_json()["record_type"] == "profile"
    assert found.as_json()["payload"] == record["payload"]


# -- what may answer ------------------------------------------------------------------------------

KEPT = [
    pytest.param({"tiers": ["long"]}, {"l"}, id="tier"),
    pytest.param({"tiers": ["short", "archive"]}, {"s", "t", "a"}, id="tiers"),
    pytest.param({"kind": "fact"}, {"l", "s"}, id="kind"),
    pytest.param({"tags": ["x"]}, {"l", "a"}, id="tag"),
    pytest.param({"tags": ["x", "y"]}, {"l", "a", "s"}, id="any tag"),
    pytest.param({"meta": [("room", "7")]}, {"a"}, id="a number as text"),
    pytest.param({"meta": [("ok", "true")]}, {"l"}, id="the line's own field"),
    pytest.param({"meta": [("room", "7"), ("ok", "true")]}, set(), id="all metadata"),
    pytest.param({"since_us": round(START * 1e6)}, {"s", "l"}, id="since, without a time"),
    pytest.param({"kind": "fact", "tiers": ["short"]}, {"s"}, id="both"),
]


@pytest.mark.parametrize(("filters", "names"), KEPT)
def test_filters_choose_who_may_answer(
    desk: Desk, ask: Ask, filters: dict[str, Any], names: set[str]
) -> None:
    put(desk, "long_term.jsonl", line("w", id="l", kind="fact", tags=["x"], ok=True))
    put(desk, ARCHIVE, line("w", ts=START - 9, id="a", tags="x", metadata={"room": 7}))
    desk.echo(line("w", id="s", kind="fact", tags=["y", "z"]), b'{"content": "w", "id": "t"}\n')

    assert {one.id for one in ask("w", **filters, **DETERMINISTIC)} == names


def test_another_agents_memories_do_not_answer(desk: Desk, ask: Ask) -> None:
    desk.echo(line("mine", 0.1))
    desk.agent = "hobbs"
    desk.shelf().ensure()
    desk.echo(line("his", 0.9))

    assert texts(ask("mine his", **DETERMINISTIC)) == ["his"]


# -- each memory once, and none missed ------------------------------------------------------------


def test_what_a_drain_still_holds_is_found(desk: Desk, ask: Ask) -> None:
    desk.echo(line("promoted", 0.9))
    writer = desk.short_term.open("ab", buffering=0)
    desk.run()
    writer.write(line("written late", 0.5))
    assert [memory.content for memory in desk.rests()] == ["written late"]
    found = ask("late", **DETERMINISTIC)
    writer.close()
    desk.run()

    assert [(one.content, one.tier) for one in found] == [
        ("written late", "short"),
        ("promoted", "long"),
    ]


def test_a_promoted_line_that_is_still_in_short_term_counts_once(desk: Desk, ask: Ask) -> None:
    desk.echo(line("a report", 0.9))
    before = desk.short_term.read_bytes()
    desk.run("promote")
    (name,) = (memory.source_id for memory in desk.memories("long"))
    desk.echo(before)
    found = ask("report", **DETERMINISTIC)

    assert [(one.id, one.tier) for one in found] == [(name, "long")]
    assert ask("report", tiers=["short"], **DETERMINISTIC) == []


@pytest.mark.parametrize(("job", "tier"), [("promote", "long"), ("rotate", "archive")])
def test_a_line_that_moves_while_it_is_looked_for_is_found_once(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, job: str, tier: str
) -> None:
    desk.limit(0)
    desk.echo(line("a report", 0.9))
    untouched = Shelf.tier_lines
    ran: list[dict[str, Any]] = []

    def meanwhile(shelf: Shelf, tiers: Any, starts: Any) -> Any:
        if not ran:  # short-term is read, the rest is not
            ran.append(desk.run(job))
        return untouched(shelf, tiers, starts)

    monkeypatch.setattr(Shelf, "tier_lines", meanwhile)
    found = ask("report", **DETERMINISTIC)

    assert ran[0]["acted"] == 1
    assert [(one.content, one.tier) for one in found] == [("a report", tier)]


@pytest.mark.parametrize("mode", ["deterministic", "semantic", "fusion"])
def test_a_file_that_is_rewritten_while_it_is_searched_is_searched_again(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    first, last = line("a letter", 0.1, id="first"), line("a report", 0.1, id="last")
    long_term = desk.tiers.directory / "long_term.jsonl"
    put(desk, long_term.name, first, last)
    engine = Meanings({"last": 0.9})
    ask("report", engine=engine)  # the index knows where it was
    untouched = Catalog.find
    asked: list[int] = []

    def meanwhile(catalog: Catalog, agent: str, ids: Any) -> Any:
        if "last" in ids:
            asked.append(1)
            if len(asked) == 1:  # as prune does: everything behind what goes moves up
                found = untouched(catalog, agent, ids)
                (desk.tiers.directory / "new").write_bytes(last)
                os.replace(desk.tiers.directory / "new", long_term)
                return found
        return untouched(catalog, agent, ids)

    monkeypatch.setattr(Catalog, "find", meanwhile)
    found = ask("report", mode=mode, engine=engine, indexed=False)

    assert [one.id for one in found] == ["last"]
    assert len(asked) > 1


def test_a_repeat_counts_once(desk: Desk, ask: Ask) -> None:
    desk.echo(line("a report"), line("a report"))

    assert len(ask("report", **DETERMINISTIC)) == 1


def test_an_id_has_the_place_that_show_gives_it(desk: Desk, ask: Ask) -> None:
    put(desk, "long_term.jsonl", line("tea", 0.1, id="same"))
    put(desk, ARCHIVE, line("a report", 0.9, id="same"), line("other", 0.1, id="other"))
    with desk.work().catalog() as catalog:
        (shown,) = desk.shelf().find("same", catalog)
    found = {one.id: one for one in ask("report", **DETERMINISTIC)}

    assert (shown.tier, shown.memory.content) == ("long", "tea")
    assert (found["same"].tier, found["same"].content) == ("long", "tea")
    assert found.keys() == {"same", "other"}


def test_a_line_whose_id_has_its_place_in_another_tier_does_not_answer(
    desk: Desk, ask: Ask
) -> None:
    put(desk, "long_term.jsonl", line("tea", id="same"))
    put(desk, ARCHIVE, line("a report", id="same"), line("a report", id="other"))
    found = ask("report", tiers=["archive"], **DETERMINISTIC)

    assert [one.id for one in found] == ["other"]


def test_two_lines_of_short_term_that_claim_one_id_are_two_memories(desk: Desk, ask: Ask) -> None:
    desk.echo(line("first", id="same"), line("second", id="same"))
    found = ask("first second", **DETERMINISTIC)

    assert sorted(texts(found)) == ["first", "second"]
    assert len({one.id for one in found}) == 2
    for one in found:
        with desk.work().catalog() as catalog:
            assert [kept.memory.content for kept in desk.shelf().find(one.id, catalog)] == [
                one.content
            ]


def test_damaged_lines_are_passed_over_and_glued_ones_read(desk: Desk, ask: Ask) -> None:
    damage = b'{"content": "torn\n\xff\xfe\n[]\n\n' + line("x", importance=7)
    glued = line("report one", id="1").rstrip() + line("report two", id="2")
    for name in ("short_term.jsonl", "long_term.jsonl", ARCHIVE):
        put(desk, name, damage)
    put(desk, "long_term.jsonl", glued)
    put(desk, ARCHIVE, b"\xef\xbb\xbf".join([b"", line("report three", id="3")]))
    desk.echo(line("report four", id="4"), b'{"ts": 1, "content": "report, not whole yet')

    assert {one.id for one in ask("report", **DETERMINISTIC)} == {"1", "2", "4"}


def test_a_byte_order_mark_at_the_start_of_a_file_is_no_damage(desk: Desk, ask: Ask) -> None:
    put(desk, ARCHIVE, b"\xef\xbb\xbf" + line("report", id="1"))

    assert texts(ask("report", **DETERMINISTIC)) == ["report"]


def test_a_home_with_nothing_in_it_answers_nothing(desk: Desk, ask: Ask) -> None:
    assert ask("anything", **DETERMINISTIC) == []


def test_a_catalog_that_can_not_be_used_is_done_without(desk: Desk, ask: Ask) -> None:
    put(desk, "long_term.jsonl", line("report", id="l"))
    desk.paths.state.mkdir(parents=True)
    (desk.paths.state / "catalog.db").mkdir()
    found = ask("report", **DETERMINISTIC)

    assert texts(found) == ["report"]
    assert "catalog" in found.degraded[0]


# -- many -----------------------------------------------------------------------------------------


def test_the_best_of_many_are_found_wherever_they_stand(desk: Desk, ask: Ask) -> None:
    many = WAITING_MAX * 3
    put(
        desk, "long_term.jsonl", *(line(f"report {n}", n / many, id=f"{n:05}") for n in range(many))
    )
    found = ask("report", limit=3, **DETERMINISTIC)

    assert texts(found) == [f"report {many - n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("name", ["short_term.jsonl", "long_term.jsonl"])
def test_the_first_of_many_equals_is_found_wherever_it_stands(
    desk: Desk, ask: Ask, name: str
) -> None:
    many = WAITING_MAX * 2 + 1
    put(desk, name, *(line("report", id=f"{n:05}") for n in reversed(range(many))))

    assert [one.id for one in ask("report", limit=2, **DETERMINISTIC)] == ["00000", "00001"]


def test_a_file_that_is_no_file_is_told_and_not_waited_for(desk: Desk, ask: Ask) -> None:
    put(desk, "long_term.jsonl", line("report", id="l"))
    os.mkfifo(desk.tiers.directory / ARCHIVE)

    assert texts(ask("report", **DETERMINISTIC)) == ["report"]
