"""How well each mode of recall finds what answers a question, on the LoCoMo conversations.

The data is not ours to ship (CC BY-NC 4.0). Recall@k is the share of the turns that answer a
question among the first k; all conversations are in one store ("pooled").
Run: python -m benchmarks.quality locomo10.json [EVERY_NTH_QUESTION]
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skymem import app, open_memory

MODES = ("deterministic", "semantic", "hybrid", "auto")
ADVERSARIAL = 5
TOP = 10


def turns(conversations: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every turn as a line, in order, with the dialogue's own id made unique."""
    for number, one in enumerate(conversations):
        talk = one["conversation"]
        for key in sorted((key for key in talk if key.endswith("_date_time")), key=_session):
            session = key.removesuffix("_date_time")
            moment = datetime.strptime(talk[key], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            for place, turn in enumerate(talk.get(session, [])):
                yield {
                    "ts": moment.timestamp() + place,
                    "content": f"{turn['speaker']}: {turn['text']}",
                    "id": f"{number}-{turn['dia_id']}",
                }


def _session(key: str) -> int:
    return int(key.split("_")[1])


def questions(conversations: list[dict[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    """Each question that can be answered, with the ids of the turns that do."""
    for number, one in enumerate(conversations):
        for qa in one["qa"]:
            evidence = {f"{number}-{name}" for name in qa.get("evidence", ())}
            if qa["category"] != ADVERSARIAL and evidence:
                yield qa["question"], evidence


def main() -> None:
    """Print recall@10 of each mode."""
    conversations = json.loads(Path(sys.argv[1]).read_text())
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        home = app.open_home(name)
        with home.paths.agent("sky").long_term.open("w") as stream:
            lines = list(turns(conversations))
            stream.writelines(json.dumps(line) + "\n" for line in lines)
        home.run_job("index")
        memory = open_memory("sky", home=name)
        known = {line["id"] for line in lines}
        asked = [
            (text, evidence) for text, evidence in questions(conversations) if evidence <= known
        ][::every]
        for mode in MODES:
            shares = []
            for text, evidence in asked:
                found = {one.id for one in memory.recall(text, mode=mode, limit=TOP)}
                shares.append(len(found & evidence) / len(evidence))
            print(f"{mode}: recall@{TOP} {sum(shares) / len(shares):.3f} ({len(asked)} questions)")
        home.engine().leave()


if __name__ == "__main__":
    main()
