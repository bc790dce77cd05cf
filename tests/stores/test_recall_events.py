"""The events of recall: what is kept of a question, for how long, and what an erasure takes out."""

from pathlib import Path

import pytest

from skymem.stores import recall_events
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey, key_path
from skymem.stores.recall_events import (
    Question,
    RecallEvent,
    answers_of,
    events_of,
    note_events,
    take_out_events,
)

DAY = 86_400.0


@pytest.fixture
def paths(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "home")


def noted(paths: HomePaths, at: float, *ids: str, query: str = "q") -> None:
    note_events(paths, Files(), "sky", query, ids, at=at)


def segments(paths: HomePaths) -> list[str]:
    return sorted(path.name for path in paths.recall_events("sky").iterdir())


def test_events_come_back_in_their_order_from_a_moment_on(paths: HomePaths) -> None:
    assert list(events_of(paths, "sky")) == []
    noted(paths, 100.0, "a", "b")
    noted(paths, 200.0, "a", query="r")
    noted(paths, 300.0)
    assert list(events_of(paths, "sky")) == [
        RecallEvent(100.0, "a", "q"), RecallEvent(100.0, "b", "q"), RecallEvent(200.0, "a", "r"),
    ]  # fmt: skip
    assert [one.at for one in events_of(paths, "sky", 150.0)] == [200.0]
    assert list(events_of(paths, "hobbs")) == []
    (path,) = paths.recall_events("sky").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_how_long_an_answer_took_stands_behind_it_and_older_lines_have_no_such_thing(
    paths: HomePaths,
) -> None:
    noted(paths, 100.0, "a", "gone")
    note_events(paths, Files(), "sky", "q", ["a", "gone"], at=200.0, took_ms=12.3456)
    (path,) = paths.recall_events("sky").iterdir()
    assert path.read_bytes().splitlines()[1] == b'[200.0,"q",["a","gone"],12.3]'
    with path.open("ab") as stream:
        stream.write(b'[300.0,"q",["a"],"long"]\n[400.0,"q",["a"],1,2]\n')
    assert take_out_events(paths, Files(), "sky", lambda name: name == "gone") == 2
    found = [(one.at, one.ids, one.took_ms) for one in answers_of(paths, "sky", 50.0)]
    assert found == [(100.0, ("a",), None), (200.0, ("a",), 12.3), (300.0, ("a",), None)]


def test_a_question_is_told_from_another_and_makes_no_key_for_that(paths: HomePaths) -> None:
    def of(where: HomePaths) -> Question:
        assert Question.of(where, Files()) is None
        assert not key_path(where).exists()
        HomeKey.of(where, Files())
        found = Question.of(where, Files())
        assert found is not None
        return found

    question = of(paths)
    assert question.hash("  Where is THE key? ") == question.hash("where is the KEY?")
    assert question.hash("where is the key") != question.hash("where is the key?")
    assert question.hash("\ud800") != question.hash("")
    other = HomePaths(paths.root.parent / "other")
    assert of(other).hash("where is the key?") != question.hash("where is the key?")
    # Nor does it say that a memory has the same words: those are hashed under another key.
    plain = HomeKey.of(paths, Files()).fingerprint(b"where is the key?").hex()
    assert question.hash("where is the key?") != plain


def test_damaged_lines_are_no_events(paths: HomePaths) -> None:
    noted(paths, 100.0, "a")
    (path,) = paths.recall_events("sky").iterdir()
    with path.open("ab") as stream:
        stream.write(
            b'\xff\n[]\n[1,2,3]\n{"at":1}\n[null,"q",["a"]]\n[1,"q",[7,"b"]]\n[200.0,"q",["a"'
        )
    assert [(one.at, one.id) for one in events_of(paths, "sky")] == [(100.0, "a"), (1.0, "b")]
    noted(paths, 300.0, "c")  # whatever stands torn before it
    assert [one.id for one in events_of(paths, "sky")] == ["a", "b", "c"]


def test_the_oldest_segments_give_way_by_age_and_by_size(
    paths: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_events, "SEGMENT_BYTES", 1)
    for day in range(10):
        noted(paths, day * DAY, f"n{day}")
    assert len(segments(paths)) == 10
    noted(paths, 405 * DAY, "later")  # those of the days 0 to 3 ended more than 400 days ago
    assert next(one.id for one in events_of(paths, "sky")) == "n4"
    monkeypatch.setattr(recall_events, "SEGMENTS_MAX", 3)
    noted(paths, 406 * DAY, "last")
    assert [one.id for one in events_of(paths, "sky")][-2:] == ["later", "last"]
    assert len(segments(paths)) == 3


def test_a_clock_that_was_set_back_writes_behind_what_is_there(
    paths: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_events, "SEGMENT_BYTES", 1)
    noted(paths, 5_000.0, "before")
    noted(paths, 1_000.0, "after")
    assert segments(paths) == ["000000005000.jsonl", "000000005001.jsonl"]
    assert [one.id for one in events_of(paths, "sky")] == ["before", "after"]
    assert [one.id for one in events_of(paths, "sky", 4_000.0)] == ["before"]


def test_an_erasure_takes_the_events_of_a_memory_out(paths: HomePaths) -> None:
    noted(paths, 100.0, "a", "b")
    noted(paths, 200.0, "a")
    taken = recall_events.take_out_events(paths, Files(), "sky", lambda name: name == "a")
    assert taken == 2
    assert list(events_of(paths, "sky")) == [RecallEvent(100.0, "b", "q")]
    (path,) = paths.recall_events("sky").iterdir()
    assert b'"a"' not in path.read_bytes()


def test_an_event_that_cant_be_written_is_lost_without_a_word(paths: HomePaths) -> None:
    paths.state.mkdir(parents=True)
    (paths.state / "recall_events").write_text("a file in the way")
    noted(paths, 100.0, "a")
    assert (paths.state / "recall_events").read_text() == "a file in the way"
    assert list(events_of(paths, "sky")) == []
