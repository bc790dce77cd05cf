"""What was done to the ledger by hand is named: which entry, in which file, on which line (M8)."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.errors import DiskError
from skymem.stores import ledger as module
from skymem.stores.catalog import Catalog
from skymem.stores.chain import PROBLEMS_MAX, ChainCheck, spell
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from tests.faults.faulty import FAULTS, PowerCut

ENTRIES = 12


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Twelve entries in three files of four, the last of them open."""
    monkeypatch.setattr(module, "SEGMENT_BYTES", 700)
    made = Ledger(HomePaths(tmp_path / "home"), Files())
    for number in range(ENTRIES):
        made.append([{"op": "test", "number": number}], 1.0)
    names = [segment.name for segment in made.segments()]
    assert names == [
        "ledger_000000000001-000000000004.jsonl",
        "ledger_000000000005-000000000008.jsonl",
        "ledger.jsonl",
    ]
    return made


def numbers(ledger: Ledger) -> list[int]:
    return [entry["seq"] for _, entry in ledger.read_from(0)]


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_the_chain_goes_on_from_file_to_file(ledger: Ledger) -> None:
    assert numbers(ledger) == [*range(1, ENTRIES + 1)]
    assert ledger.verify() == (ENTRIES, [])
    assert ledger.size() == sum(path.stat().st_size for path in ledger.path.parent.glob("*.jsonl"))
    assert [entry["seq"] for entry in ledger.mentioning(b'"number":5,')] == [6]


def test_reading_goes_on_from_any_place_in_any_file(ledger: Ledger) -> None:
    ends = [end for end, _ in ledger.read_from(0)]
    for at, end in enumerate(ends):
        assert [entry["seq"] for _, entry in ledger.read_from(end)] == [*range(at + 2, ENTRIES + 1)]
    assert ends[-1] == ledger.size()


def test_one_append_of_many_entries_fills_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 5000)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1000)
    ledger = Ledger(HomePaths(tmp_path / "home"), Files())
    ledger.append(({"op": "test", "number": number} for number in range(100)), 1.0)

    assert len(ledger.segments()) > 3
    assert ledger.verify() == (100, [])


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_whichever_byte_is_flipped_is_seen_and_its_entry_named(ledger: Ledger) -> None:
    file = ledger.segments()[1].path
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(flip(whole, at))
        line = whole[:at].count(b"\n") + 1
        problems = ledger.verify()[1]
        assert problems, f"byte {at} of line {line}"
        told = f"{file.name}: line {line}"
        assert any(told in one or f"entry {line + 4} " in one for one in problems), (at, problems)
    file.write_bytes(whole)
    assert ledger.verify() == (ENTRIES, [])


def without(number: int) -> Callable[[list[bytes]], list[bytes]]:
    return lambda found: found[: number - 1] + found[number:]


MEDDLING = [
    pytest.param(
        1, without(2), ["entry 6 is missing: removed before {1}: line 2"], id="removed"
    ),
    pytest.param(
        1, lambda f: [f[0], f[2], f[1], f[3]],
        ["{1}: line 3: entry 6 stands behind entry 7: reordered"], id="swapped",
    ),
    pytest.param(
        1, lambda f: [f[3], f[0], f[1], f[2]],
        ["{1}: line 2: entries 5–7 stand behind entry 8: reordered"], id="moved",
    ),
    pytest.param(
        1, lambda f: [*f[:2], f[1], *f[2:]],
        ["{1}: line 3: entry 6 was inserted: its number is taken"], id="doubled",
    ),
    pytest.param(
        1, lambda f: [*f[:3], f[0], f[3]],
        ["{1}: line 4: entry 5 was inserted: its number is taken"], id="copied",
    ),
    pytest.param(
        2, without(1), ["entry 9 is missing: a file before {2} is gone, or the beginning of it"],
        id="the beginning of the open file",
    ),
    pytest.param(
        2, lambda f: f[:2], ["entries 11–12 are missing: the end of the ledger was cut off"],
        id="cut off",
    ),
    pytest.param(
        1, lambda f: [f[0], b"garbage\n", *f[2:]],
        ["{1}: line 2 is no entry", "entry 6 is missing: removed before {1}: line 3"],
        id="spoilt",
    ),
    pytest.param(
        0, lambda f: [*f[:1], f[1].replace(b'"number":1', b'"number":9'), *f[2:]],
        ["{0}: line 2: entry 2 was changed"], id="changed",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("which", "meddle", "expected"), MEDDLING)
def test_what_was_done_is_named_with_entry_file_and_line(
    ledger: Ledger, which: int, meddle: Callable[[list[bytes]], list[bytes]], expected: list[str]
) -> None:
    files = [segment.path for segment in ledger.segments()]
    files[which].write_bytes(b"".join(meddle(lines(files[which]))))
    told = [one.format(*(file.name for file in files)) for one in expected]

    assert ledger.verify()[1] == told


def chained(seq: int, after: bytes, **fields: object) -> bytes:
    """An entry made by somebody who knows how."""
    return spell({"op": "forged", **fields}, seq, json.loads(after)["hash"], 1.0)[0]


def test_an_entry_changed_together_with_its_hash_no_longer_fits(ledger: Ledger) -> None:
    file = ledger.segments()[1].path
    found = lines(file)
    found[1] = chained(6, found[0])
    file.write_bytes(b"".join(found))

    (problem,) = ledger.verify()[1]
    assert "entry 7 does not follow entry 6" in problem


def test_an_entry_inserted_with_a_right_hash_is_named(ledger: Ledger) -> None:
    file = ledger.segments()[1].path
    found = lines(file)
    file.write_bytes(b"".join([found[0], chained(6, found[0]), *found[1:]]))

    assert ledger.verify()[1] == [f"{file.name}: line 3: entry 6 was inserted: its number is taken"]


def test_a_whole_end_written_anew_is_not_what_was_noted(ledger: Ledger) -> None:
    found = lines(ledger.path)
    for at in range(1, len(found)):
        found[at] = chained(9 + at, found[at - 1])
    ledger.path.write_bytes(b"".join(found))

    problem = "ledger.jsonl: line 4: entry 12 is not the one that was written"
    assert ledger.verify()[1] == [problem]


@pytest.mark.parametrize(
    ("which", "problem"),
    [
        (0, "entries 1–4 are missing: a file of the ledger is gone that stood before {1}"),
        (1, "entries 5–8 are missing: a file before {2} is gone, or the beginning of it"),
        (2, "entries 9–12 are missing: the end of the ledger was cut off"),
    ],
)
def test_a_file_that_was_removed_is_missed(ledger: Ledger, which: int, problem: str) -> None:
    files = [segment.path for segment in ledger.segments()]
    files[which].unlink()

    assert ledger.verify()[1] == [problem.format(*(file.name for file in files))]


def test_what_was_cut_off_stays_known_when_the_ledger_goes_on(ledger: Ledger) -> None:
    ledger.path.write_bytes(b"".join(lines(ledger.path)[:2]))
    ledger.append([{"op": "test"}], 2.0)
    ledger.append([{"op": "test"}], 3.0)

    assert numbers(ledger) == [*range(1, 14)]
    (problem,) = ledger.verify()[1]
    lost = "line 3: entries 11–12 as written before had been cut off when entry 11 came"
    assert problem.endswith(lost)


@pytest.mark.parametrize("note", [b"", b"garbage", b'{"seq": 2, "hash"', b"{}"])
def test_a_note_of_the_last_entry_that_is_missing_or_torn_is_no_problem(
    ledger: Ledger, note: bytes
) -> None:
    kept = ledger.path.parents[1] / "state" / "ledger_head.json"
    kept.write_bytes(note)
    assert ledger.verify() == (ENTRIES, [])
    kept.unlink()
    ledger.append([{"op": "test"}], 1.0)
    assert ledger.verify() == (ENTRIES + 1, [])
    assert json.loads(kept.read_bytes())["seq"] == ENTRIES + 1


def test_a_note_that_is_half_of_another_entry_misleads_nobody(ledger: Ledger) -> None:
    kept = ledger.path.parents[1] / "state" / "ledger_head.json"
    before = kept.read_bytes()
    ledger.append([{"op": "test"}], 1.0)
    after = kept.read_bytes()
    assert len(after) == len(before)
    for half in range(1, len(after)):
        kept.write_bytes(after[:half] + before[half:])
        assert ledger.verify() == (ENTRIES + 1, []), half


def test_files_of_other_names_are_no_part_of_it(ledger: Ledger) -> None:
    for name in ("ledger_1.jsonl", "ledger_5-8.jsonl.bak", "key", ".ledger_1-2.jsonl"):
        (ledger.path.parent / name).write_bytes(b"something\n")
    assert ledger.verify() == (ENTRIES, [])


def test_what_is_wrong_everywhere_is_told_within_bounds(ledger: Ledger) -> None:
    check = ChainCheck(None)
    check.open(ledger.segments()[0])
    for _ in range(PROBLEMS_MAX + 5):
        check.take(b"garbage")

    problems = check.problems()
    assert len(problems) == PROBLEMS_MAX + 1
    assert problems[-1] == "… and 5 more"


@pytest.mark.parametrize("fault", FAULTS)
def test_whichever_step_of_an_append_breaks_the_chain_is_whole_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 600)
    steps: set[str] = set()
    refused: list[int] = []
    for at in range(1, 100):
        paths = HomePaths(tmp_path / str(at))
        whole = Ledger(paths, Files())
        for number in range(3):  # the next append closes a file
            whole.append([{"op": "test", "number": number}], 1.0)
        files = FAULTS[fault](at)
        broken = Ledger(paths, files)
        acknowledged = 3
        try:
            for number in range(4):
                broken.append([{"op": "test", "number": number}], 1.0)
                acknowledged += 1
        except PowerCut:
            assert fault.startswith("killed")
        except DiskError:
            refused.append(at)
        whole.append([{"op": "last"}], 1.0)
        found = [entry for _, entry in whole.read_from(0)]
        assert whole.verify() == (len(found), [])
        assert len(found) >= acknowledged + 1
        steps.update(files.steps)
        if not files.fired:
            break
    else:
        pytest.fail("it never ends")
    assert {"rename", "overwrite", "fsync"} <= steps
    assert bool(refused) == (not fault.startswith("killed"))


def test_the_catalog_goes_on_where_it_stopped_when_a_file_was_closed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog.in_memory()
    begin = {"op": "begin", "agent": "sky", "run": "r1", "job": "promote", "short": []}
    ledger.append([begin], 1.0)
    assert [one["run"] for one in catalog.open_runs("sky", ledger)] == ["r1"]
    places: list[int] = []
    reading = Ledger.read_from

    def noting(self: Ledger, place: int) -> Iterator[tuple[int, dict[str, Any]]]:
        places.append(place)
        return reading(self, place)

    monkeypatch.setattr(Ledger, "read_from", noting)
    before = ledger.size()
    for _ in range(5):
        ledger.append([{"op": "test"}], 1.0)
    assert len(ledger.segments()) > 3
    assert len(catalog.open_runs("sky", ledger)) == 1
    ledger.append([{"op": "end", "agent": "sky", "run": "r1", "job": "promote"}], 1.0)
    assert catalog.open_runs("sky", ledger) == []
    assert catalog.open_runs("sky", ledger) == []
    assert places[0] == before
    assert len(places) == 2  # nothing new costs no reading
    catalog.close()


def test_what_is_read_while_a_file_is_closed_is_read_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = ledger.segments()
    for number in range(8):
        ledger.append([{"op": "test", "number": number}], 1.0)
    monkeypatch.setattr(Ledger, "segments", lambda _: looked)

    found = numbers(ledger)
    assert found == [*range(1, len(found) + 1)]
    assert len(found) >= ENTRIES
