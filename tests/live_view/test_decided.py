"""The ledger's entries as lines of the live view, and how it reads on in the ledger."""

from pathlib import Path
from typing import Any

import pytest

from skymem.live_view import ledger_tail
from skymem.live_view.decided import decided_in
from skymem.live_view.ledger_tail import LedgerTail
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger

RUN = "sky_promote_20260101T000000Z_ab12"
REPEAT = ["repeat", "id2", "repeat", None, None, ""]
GIVEN = ["promote", "id1", "importance", 0.9, 0.7, "given"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"op": "decide", "run": RUN, "decided": [GIVEN, REPEAT]},
            [
                ("promote", "id1", "importance 0.9 against 0.7 (given)"),
                ("repeat", "id2", "promote: repeat"),
            ],
        ),
        (
            {"op": "add", "run": RUN, "added": [["merge", "m", ["a", "b"], ["a", "b"]]]},
            [("made", "m", "merge of 2 memories")],
        ),
        (
            {"op": "likened", "run": RUN, "likened": [["a", "b", 0.97, 0.95]]},
            [("likened", "a", "says the same as b: 0.97 against 0.95")],
        ),
        ({"op": "remember", "ids": ["a", "b", "c"]}, [("came in", "a", "and 2 more")]),
        ({"op": "pin", "ids": ["a"], "by": "cli:0"}, [("pin", "a", "by cli:0")]),
        ({"op": "share", "ids": ["a"], "with": "hobbs"}, [("share", "a", "with hobbs")]),
        (
            {"op": "quarantine", "pieces": [["x", 0, 1, ""]]},
            [("quarantine", "", "1 unreadable piece(s)")],
        ),
        (
            {"op": "violation", "whose": "sky", "door": "mcp"},
            [("refused", "", "reached for sky, by mcp")],
        ),
        ({"op": "begin", "run": RUN}, []),
        ({"op": "something new"}, []),
    ],
)  # fmt: skip
def test_an_entry_is_told_by_ids_and_reasons(
    entry: dict[str, Any], told: list[tuple[str, str, str]]
) -> None:
    found = decided_in({"ts": 5.0, "agent": "sky", "seq": 3, **entry})

    assert [(one.what, one.id, one.why) for one in found] == told
    assert [(one.seq, one.at) for one in found] == [(3, at) for at in range(len(told))]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(HomePaths(tmp_path), Files())


def _write(ledger: Ledger, *names: str) -> None:
    ledger.append([{"op": "pin", "agent": "sky", "ids": [name]} for name in names], 5.0)


def _read(tail: LedgerTail) -> tuple[list[str], bool]:
    found, left_out = tail.fresh()
    return [entry["ids"][0] for entry in found], left_out


def test_each_entry_is_read_once_and_what_was_there_before_as_well(ledger: Ledger) -> None:
    _write(ledger, "a", "b")
    tail = LedgerTail(ledger)

    assert _read(tail) == (["a", "b"], False)
    assert _read(tail) == ([], False)
    _write(ledger, "c")
    assert _read(tail) == (["c"], False)


def test_of_much_only_the_end_is_read(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(ledger, *(f"n{number}" for number in range(100)))
    monkeypatch.setattr(ledger_tail, "BYTES_MAX", ledger.size() // 10)
    tail = LedgerTail(ledger)
    names, left_out = _read(tail)

    assert left_out
    assert 5 < len(names) <= 10
    assert names[-1] == "n99"


def test_another_ledger_in_its_place_is_read_anew(ledger: Ledger) -> None:
    _write(ledger, "a", "b")
    tail = LedgerTail(ledger)
    _read(tail)
    ledger.path.unlink()
    for left in (ledger.path.parent.parent / "state").glob("ledger_head*"):
        left.unlink()
    _write(ledger, "c")

    assert _read(tail) == (["c"], False)
