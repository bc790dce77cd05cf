"""Compress on real files: a profile, a project, the archive, and what cites what (rows R9–R12)."""

import json
from typing import Any

from skymem.model.memory import Memory
from skymem.model.records import record_of, sections
from skymem.model.rules import CompressRules
from tests.conftest import START, Desk, line
from tests.jobs.chatting import Server, given, rules, server

__all__ = ["server"]

DAY = 86_400.0


def other_spelling(content: str, kind: str, **more: Any) -> bytes:
    fields = {"timestamp": "2023-11-10T08:00:00Z", "content": content, "score": 4}
    return json.dumps({**fields, "metadata": {"type": kind, **more}}).encode() + b"\n"


def records(desk: Desk) -> dict[str, Memory]:
    """The newest record of each name in long-term."""
    found = [memory for memory in desk.memories("long") if memory.record_type]
    return {str(memory.payload.get("name", "profile")): memory for memory in found}


def said(memory: Memory) -> dict[str, list[str]]:
    record = record_of(memory)
    return {name: [one.text for one in found] for name, found in sections(record) if found}


def a_week(desk: Desk) -> None:
    desk.echo(
        line("User prefers tea.", kind="preference", id="tea"),
        line("User lives in Oslo.", kind="fact", id="oslo", trust=0.4),
        other_spelling("the user lives in Oslo", "fact"),
        line("User is not a morning person.", kind="fact", tags=["do_not_assume"], id="morning"),
        line("Ship v2.1 by 2023-12-01.", kind="project", tags=["project:apollo"], id="ship"),
        line("The API key is missing.", kind="fact", tags=["project:apollo", "blocker"], id="key"),
        other_spelling("Ask Bob for it.", "request", tags=["project:apollo", "next"]),
        line("What time is it?", kind="request", id="time"),
        line("Some log.", kind="log", id="log"),
        line("No kind at all.", id="none"),
        line("Young.", kind="fact", ts=START + 6 * DAY, id="young"),
    )
    desk.clock = START + 7 * DAY


def test_a_week_becomes_a_profile_and_a_project_and_every_source_stays_resolvable(
    desk: Desk,
) -> None:
    a_week(desk)
    sources = len(desk.raw("short"))
    detail = desk.run("compress")

    assert detail["ok"]
    assert {name: said(memory) for name, memory in records(desk).items()} == {
        "profile": {
            "preferences": ["User prefers tea."],
            "stable_facts": ["the user lives in Oslo"],
            "do_not_assume": ["User is not a morning person."],
        },
        "apollo": {
            "goals": ["Ship v2.1 by 2023-12-01."],
            "blockers": ["The API key is missing."],
            "next_steps": ["Ask Bob for it."],
        },
    }
    assert desk.contents("short") == ["Some log.", "No kind at all.", "Young."]
    archived = {memory.source_id: memory for memory in desk.memories("archive")}
    assert len(archived) == sources - 3
    assert "time" in archived
    for memory in records(desk).values():
        assert set(memory.evidence_ids) <= set(archived)
        for _, found in sections(record_of(memory)):
            for one in found:
                assert archived[one.source].content[slice(*one.span)] == one.text
    assert records(desk)["profile"].trust == 0.4
    assert all(
        memory.fields["type"] == "long" and memory.content for memory in records(desk).values()
    )


def test_compressing_again_finds_nothing_and_writes_nothing(desk: Desk) -> None:
    a_week(desk)
    desk.run("compress")
    before = {tier: desk.raw(tier) for tier in ("short", "long", "archive")}
    detail = desk.run("compress")

    assert detail["ok"]
    assert {tier: desk.raw(tier) for tier in before} == before


def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    a_week(desk)
    before = desk.raw("short")
    desk.run("compress", dry_run=True)

    assert desk.raw("short") == before
    assert desk.raw("long") == desk.raw("archive") == []


def test_the_next_week_is_added_to_what_is_there(desk: Desk) -> None:
    a_week(desk)
    desk.run("compress")
    old = records(desk)["profile"].source_id
    desk.echo(line("User prefers coffee.", kind="preference", ts=desk.clock, id="coffee"))
    desk.clock += 7 * DAY
    desk.run("compress")
    profile = records(desk)["profile"]

    assert said(profile)["preferences"] == ["User prefers tea.", "User prefers coffee."]
    assert said(profile)["stable_facts"] == ["the user lives in Oslo", "Young."]
    assert profile.supersedes == (old,)
    assert {"tea", "coffee", "oslo"} <= set(profile.evidence_ids)


def test_what_it_acted_on_is_what_it_moved_however_much_its_records_rest_on(desk: Desk) -> None:
    a_week(desk)
    first = desk.run("compress")
    assert first["acted"] == first["archived"] == 8
    desk.echo(line("User has a cat.", kind="fact", ts=desk.clock - 3 * DAY))
    again = desk.run("compress")

    assert (again["acted"], again["archived"], again["profile"]) == (1, 1, 1)


def test_a_record_written_anew_is_something_done_though_nothing_moved(desk: Desk) -> None:
    a_week(desk)
    desk.run("compress")
    desk.echo(line("User prefers milk.", 0.9, supersedes=["tea"], ts=desk.clock, id="milk"))
    desk.run("promote")
    detail = desk.run("compress")

    assert (detail["archived"], detail["acted"]) == (0, 1)
    assert "why" not in detail


def test_a_correction_takes_what_it_corrects_out_of_the_profile(desk: Desk) -> None:
    a_week(desk)
    desk.run("compress")
    right = line(
        "User prefers milk.", kind="preference", ts=desk.clock, id="milk", supersedes=["tea"]
    )
    desk.echo(right)
    desk.clock += DAY
    desk.run("compress")
    assert "preferences" not in said(records(desk)["profile"])
    assert "tea" not in records(desk)["profile"].evidence_ids
    desk.clock += 7 * DAY
    desk.run("compress")

    assert said(records(desk)["profile"])["preferences"] == ["User prefers milk."]


def test_a_model_may_write_it_and_what_it_makes_up_is_counted(desk: Desk, server: Server) -> None:
    desk.echo(
        line("User prefers tea, and mornings are quiet.", kind="preference", id="tea"),
        line("User is 41.", kind="fact", id="age"),
    )
    quote = "User prefers tea, and mornings are quiet."
    server.answer = lambda request, body: request.state(
        given("The user prefers tea.", quote)
        if quote in body["messages"][1]["content"]
        else given("User is 14.", "User is 41.")
    )
    desk.rules = desk.rules._replace(compress=CompressRules(summarizer=rules(server)))
    desk.clock = START + 7 * DAY
    detail = desk.run("compress")

    assert len(server.requests) == 2
    assert said(records(desk)["profile"]) == {
        "preferences": ["The user prefers tea."],
        "stable_facts": ["User is 41."],
    }
    assert detail["withheld"] == {"number": 1}


def test_a_model_that_is_away_costs_nothing_but_a_word(desk: Desk, server: Server) -> None:
    a_week(desk)
    away = rules(server)
    server.server_close()
    desk.rules = desk.rules._replace(compress=CompressRules(summarizer=away))
    detail = desk.run("compress")

    assert said(records(desk)["profile"])["preferences"] == ["User prefers tea."]
    assert "summarizer: ConnectError" in detail["degraded"]
