"""The question sets that recall is measured on, as lines and questions. None is ours to ship."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ADVERSARIAL = 5
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


class Question(NamedTuple):
    """A question with the ids of what answers it: of memories, or of their sessions."""

    text: str
    gold: frozenset[str]
    category: str
    by_session: bool = False


class Haystack(NamedTuple):
    """Memories that are in one agent, and what is asked of them."""

    agent: str
    lines: list[dict[str, Any]]
    questions: list[Question]


def locomo(path: Path) -> list[Haystack]:
    """LoCoMo: each conversation an agent, each turn a memory; no adversarial question."""
    return [_conversation(n, one) for n, one in enumerate(json.loads(path.read_text()))]


def pooled(haystacks: list[Haystack]) -> Haystack:
    """All of them as one agent's."""
    lines = [line for one in haystacks for line in one.lines]
    return Haystack("pooled", lines, [asked for one in haystacks for asked in one.questions])


def _conversation(number: int, one: dict[str, Any]) -> Haystack:
    lines = list(_turns(number, one["conversation"]))
    known = {line["id"] for line in lines}
    questions = []
    for qa in one["qa"]:
        gold = frozenset(f"{number}-{name}" for name in _named(qa.get("evidence", ()))) & known
        if qa["category"] != ADVERSARIAL and gold:
            questions.append(Question(qa["question"], gold, CATEGORIES[qa["category"]]))
    return Haystack(f"conversation{number}", lines, questions)


def _named(evidence: Iterable[str]) -> Iterator[str]:
    """The turns that answer, several in one entry and oddly spelled now and then."""
    for entry in evidence:
        for session, turn in re.findall(r"D:?(\d+):(\d+)", entry):
            yield f"D{int(session)}:{int(turn)}"


def _turns(number: int, talk: dict[str, Any]) -> Iterator[dict[str, Any]]:
    dates = (key for key in talk if key.endswith("_date_time"))
    for key in sorted(dates, key=lambda name: int(name.split("_")[1])):
        session = key.removesuffix("_date_time")
        moment = datetime.strptime(talk[key], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, turn in enumerate(talk.get(session, [])):
            yield {
                "ts": moment.timestamp() + place,
                "content": f"{turn['speaker']}: {turn['text']}",
                "session": f"{number}-{session}",
                "id": f"{number}-{turn['dia_id']}",
            }


def longmemeval(path: Path) -> list[Haystack]:
    """A sample of LongMemEval: each haystack an agent; of a session the best turn counts."""
    found = []
    for number, one in enumerate(json.loads(path.read_text())):
        lines = []
        sessions = zip(
            one["haystack_session_ids"],
            one["haystack_dates"],
            one["haystack_sessions"],
            strict=True,
        )
        for session, date, turns in sessions:
            moment = datetime.strptime(date, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
            for place, turn in enumerate(turns):
                lines.append(
                    {
                        "ts": moment.timestamp() + place,
                        "content": f"{turn['role']}: {turn['content']}",
                        "session": session,
                        "id": f"{number}-{session}-{place}",
                    }
                )
        asked = [
            Question(text, frozenset(gold), "session", by_session=True)
            for text, gold in zip(one["questions"], one["answer_session_ids"], strict=True)
        ]
        found.append(Haystack(f"haystack{number}", lines, asked))
    return found


def devbench(path: Path) -> list[Haystack]:
    """Memories of a developer's agent; questions with nothing to find are left out."""
    data = json.loads(path.read_text())
    lines = []
    for one in data["memories"]:
        moment = datetime.fromisoformat(one["created_at_iso"])
        named = ("devbench", one["id"])
        lines.append(
            {
                "ts": moment.timestamp(),
                "content": one["content"],
                "tags": [tag for tag in one["tags"] if tag not in named],
                "kind": one["memory_type"],
                "id": one["id"],
            }
        )
    asked = [
        Question(one["question"], frozenset(one["expected_tags"]), one["category"])
        for one in data["queries"]
        if one["expected_tags"]
    ]
    return [Haystack("devbench", lines, asked)]
