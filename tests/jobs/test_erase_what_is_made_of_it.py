"""What was made of an erased memory says it no more, and nothing old holds again (rows X5, R10)."""

import json

import pytest

from skymem import app, upkeep
from skymem.jobs import runner
from skymem.jobs.merge_notes import merge_notes
from skymem.jobs.profile import Update, upsert
from skymem.jobs.table import Job
from skymem.model.conversation import Conversation, Quote, Scope, content, fields_of
from skymem.model.memory import Memory
from skymem.model.records import Statement
from skymem.policy.erasing import Erased, WithdrawnError, revised
from skymem.recall import listing
from skymem.recall.listing import pattern_of
from skymem.recall.request import filters_of
from tests.conftest import Desk, line
from tests.jobs.erased import SECRET, balanced, erased, id_of, places, traces

DAY = 86_400


def _do(desk: Desk, job: str, what: Job) -> None:
    desk.clock += 1
    detail, _ = runner.run(desk.work(), job, ["sky"], table={job: what})
    assert detail["ok"], detail


def _compressed(desk: Desk, *texts: str) -> None:
    """A profile that quotes these, which are in the archive by then."""
    desk.clock = app.now()
    old = desk.clock - 9 * DAY
    desk.echo(*(line(text, 0.5, ts=old + n, kind="preference") for n, text in enumerate(texts)))
    assert desk.run("compress")["profile"] == 1


def _record(desk: Desk) -> dict[str, object]:
    (found,) = [json.loads(raw) for raw in desk.raw("long")]
    return dict(found)


def test_a_profile_says_again_what_others_said(desk: Desk) -> None:
    _compressed(desk, "Ann likes tea.", SECRET + ".", "Ann likes short mails.")
    before = _record(desk)
    receipt = erased(desk, id_of(desk, SECRET + "."))

    assert places(receipt) == {"archives": (1, 0), "long-term": (1, 0)}
    assert traces(desk.paths.root, SECRET) == []
    after = _record(desk)
    assert after["id"] == before["id"] == receipt.rewritten[0]
    assert after["content"] == "Preferences:\n- Ann likes tea.\n- Ann likes short mails."
    assert len(after["evidence_ids"]) == 2  # type: ignore[arg-type]
    assert {key: before[key] for key in ("ts", "importance")} == {
        key: after[key] for key in ("ts", "importance")
    }
    assert balanced(desk) == {"came_in": 4, "long": 1, "archive": 2, "erased": 1}


def test_a_pattern_that_a_profile_quotes_takes_the_quotation_and_not_the_profile(
    desk: Desk,
) -> None:
    _compressed(desk, "Ann likes tea.", SECRET + ".")
    receipt = erased(desk, pattern=pattern_of("Müllerin"))
    assert (len(receipt.ids), receipt.rewritten) == (1, [_record(desk)["id"]])
    assert traces(desk.paths.root, SECRET) == []

    receipt = erased(desk, pattern=pattern_of("^Preferences"))
    assert receipt.erased == {"matched": [receipt.ids[0]]}
    assert (desk.raw("long"), desk.contents("archive")) == ([], ["Ann likes tea."])


def test_a_conversation_quotes_it_no_more_whoever_said_it_there(desk: Desk) -> None:
    def quote(role: str, text: str, source: str) -> Quote:
        return Quote(role, Statement(text, source, (0, len(text))), memory=False)

    facts = (
        (quote("user", "Shall we go?", "t1"), quote("user", SECRET, "t2")),
        (quote("user", "It is raining.", "t3"),),
    )
    made = Conversation(facts, 3)
    fields = {"ts": 1, **fields_of(made, Scope("s")), "content": content(made), "importance": 0.9}
    desk.echo(json.dumps(fields).encode() + b"\n", line(SECRET, 0.9))
    desk.run("promote")
    receipt = erased(desk, id_of(desk, SECRET))

    assert receipt.rewritten == [fields["id"]]
    (left,) = desk.memories("long")
    assert left.content == "Conversation so far, 3 turns:\n- user: It is raining."
    assert len(left.payload["facts"]) == 1
    assert traces(desk.paths.root, SECRET) == []


def test_a_profile_that_rests_on_it_alone_goes_and_its_line_does_not_come_back(
    desk: Desk,
) -> None:
    _compressed(desk, SECRET + ".")
    (quoting,) = desk.raw("long")
    receipt = erased(desk, id_of(desk, SECRET + "."))

    assert {why: len(ids) for why, ids in receipt.erased.items()} == {"named": 1, "made_of": 1}
    assert desk.raw("long") == [] == desk.raw("archive")
    assert traces(desk.paths.root, SECRET) == []
    desk.echo(quoting + b"\n")
    assert desk.run("promote")["erased"] == 1
    assert traces(desk.paths.root, SECRET) == []
    assert balanced(desk) == {"came_in": 2, "erased": 2}


def test_the_profile_before_and_the_one_in_trash_are_said_again_as_well(
    desk: Desk, home: app.Home
) -> None:
    _compressed(desk, SECRET + ".", "Ann likes tea.")
    tea = id_of(desk, "Ann likes tea.")
    _do(
        desk,
        "profile",
        upsert(Update(user_id=None, evidence_ids=[tea], said={"stable_facts": ["Ann likes tea."]})),
    )
    first, second = (json.loads(raw)["id"] for raw in desk.raw("long"))
    upkeep.forget_memories(home, "sky", [first])
    receipt = erased(desk, id_of(desk, SECRET + "."))

    assert places(receipt) == {"archives": (1, 0), "long-term": (1, 0), "trash": (1, 0)}
    assert receipt.rewritten == sorted([first, second])
    assert traces(desk.paths.root, SECRET) == []
    upkeep.restore_memories(home, "sky", [first])
    assert balanced(desk) == {"came_in": 4, "long": 2, "archive": 1, "erased": 1}


def test_a_summary_of_notes_quotes_the_others(desk: Desk) -> None:
    texts = ["The deploy went well.", SECRET, "Bob is on leave."]
    desk.echo(*(line(text, 0.3, stability="volatile") for text in texts))
    desk.run("promote")
    ids = [id_of(desk, text) for text in texts]
    _do(desk, "merge", merge_notes(ids))
    receipt = erased(desk, ids[1])

    assert receipt.rewritten == [_record(desk)["id"]]
    assert _record(desk)["content"] == "- The deploy went well.\n- Bob is on leave."
    assert traces(desk.paths.root, SECRET) == []
    assert balanced(desk)["erased"] == 1


def test_what_a_correction_had_corrected_stays_corrected_by_the_next(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("Reports at 7am", 0.9))
    desk.run("promote")
    _, (made,) = upkeep.correct_memory(home, "sky", id_of(desk, "Reports at 7am"), SECRET)
    upkeep.correct_memory(home, "sky", made.made[0], "Reports at 9am")
    receipt = erased(desk, made.made[0])

    assert receipt.rewritten == [id_of(desk, "Reports at 9am")]
    assert traces(desk.paths.root, SECRET) == []
    found = home.find("sky", id_of(desk, "Reports at 9am")).memory
    assert id_of(desk, "Reports at 7am") in found.supersedes
    active = listing.recent(desk.work(), "sky", filters_of(), 10, since_us=None)
    assert [one["content"] for one in active] == ["Reports at 9am"]
    assert balanced(desk) == {"came_in": 3, "long": 2, "erased": 1}


def _statement(text: str, source: str) -> dict[str, object]:
    return {"text": text, "source": source, "span": [0, len(text)]}


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        pytest.param({"evidence_ids": ["kept"]}, None, id="has nothing to do with it"),
        pytest.param({"evidence_ids": ["gone"]}, None, id="a writer's own words that cite it"),
        pytest.param({"evidence_ids": ["gone"], "kind": "summary"}, WithdrawnError, id="summary"),
        pytest.param(
            {"evidence_ids": ["gone"], "record_type": "turns", "payload": {"n": 1}},
            WithdrawnError, id="a record that can't be taken apart",
        ),
        pytest.param(
            {"record_type": "digest", "payload": {"said": [_statement("a", "gone"),
             _statement("b", "kept")]}},
            WithdrawnError, id="a record nobody can say again",
        ),
        pytest.param(
            {"record_type": "digest", "content": None, "payload": {"said": [
             _statement("a", "gone"), _statement("b", "kept")]}},
            {"said": [_statement("b", "kept")]}, id="one that has no words beside its parts",
        ),
    ],
)  # fmt: skip
def test_what_is_left_of_a_memory(fields: dict[str, object], left: object) -> None:
    memory = Memory({"ts": 1, "content": "words", **fields})
    erased_one = Erased(lambda name: name == "gone")
    if left is WithdrawnError:
        with pytest.raises(WithdrawnError):
            revised(memory, "own", erased_one)
        return
    found = revised(memory, "own", erased_one)
    assert (found and found["payload"]) == left
