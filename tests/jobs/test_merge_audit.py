"""Row X9: how many merges were wrong, by a person or a file, within an interval, and kept."""

import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skymem import app
from skymem.cli.main import app as command
from skymem.errors import SkymemError, UsageError
from skymem.merge_auditing import Audit, open_audit
from skymem.policy.interval import interval
from skymem.policy.merge_audit import DIFFERENT, SAME, Merged, figures, read_labels
from tests.jobs.indexing import Indexer, indexer
from tests.jobs.test_duplicates import NEW, OLD, home, in_long, run

__all__ = ["home", "indexer"]

OTHERS = ("Note that Kiel is cold", "Kiel is cold")


@pytest.fixture
def lived(home: Indexer) -> Indexer:
    """Two merges of long-term, one of three memories."""
    in_long(home, OLD, NEW, *OTHERS)
    assert run(home, "merge")["duplicates"] == 2
    app.init_home(home.desk.paths.root)
    return home


def look(lived: Indexer) -> Audit:
    return open_audit(app.open_home(str(lived.desk.paths.root)), "sky")


def ask(lived: Indexer, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, ["--home", str(lived.desk.paths.root), "merge", *words])
    if isinstance(done.exception, SkymemError):  # what the command's boundary prints
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output


def test_the_merges_of_texts_that_differ_are_asked_about_and_copies_are_counted(
    lived: Indexer,
) -> None:
    found = look(lived)
    assert sorted(text.merged for text in found.merges.values()) == sorted([OLD, OTHERS[0]])
    assert found.copies == 2
    assert found.figures()["rate"] is None


def test_what_was_said_is_kept_and_the_next_audit_goes_on(lived: Indexer) -> None:
    found = look(lived)
    (first,) = found.to_ask(1, seed=7)
    assert found.to_ask(1, seed=7) == [first]
    found.answer({first: DIFFERENT})
    again = look(lived)
    (second,) = again.to_ask(9, seed=7)
    again.answer({second: SAME})
    told = look(lived).figures()
    assert (told["judged"], told["different"], told["left"], told["rate"]) == (2, 1, 0, 0.5)
    assert told["wrong"] == [first._asdict()]
    kept = (lived.desk.paths.state / "merge_audit" / "sky.jsonl").read_text()
    assert "Kiel" not in kept
    assert "repo" not in kept


def test_a_file_says_it_and_a_faulty_line_is_named_with_its_field(
    lived: Indexer, tmp_path: Path
) -> None:
    status, output = ask(lived, "--audit", "5", "--json")
    assert status == 0
    asked = json.loads(output)["to_judge"]
    assert len(asked) == 2
    labels = tmp_path / "labels.jsonl"
    labels.write_text("# by hand\n\n" + json.dumps({**asked[0], "verdict": "perhaps"}) + "\n")
    status, output = ask(lived, "--audit", "5", "--labels", str(labels))
    assert status == UsageError.exit_code
    assert "line 3: verdict: 'perhaps' is neither same nor different" in output
    labels.write_text(json.dumps({"merged": "a", "into": "b", "verdict": "same"}))
    status, output = ask(lived, "--audit", "5", "--labels", str(labels))
    assert "line 1: merged: no merge of sky made a part of b" in output
    labels.write_text("".join(json.dumps({**one, "verdict": "same"}) + "\n" for one in asked))
    status, output = ask(lived, "--audit", "5", "--labels", str(labels))
    assert (status, "wrong: 0 of 2 (0.0%)" in output) == (0, True)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal that somebody types on."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield master
    os.close(master)


def test_a_person_is_shown_both_texts_and_says_it(
    lived: Indexer, terminal: int, capsys: pytest.CaptureFixture[str]
) -> None:
    os.write(terminal, b"what\ny\nn\n")
    command(["--home", str(lived.desk.paths.root), "merge", "--audit", "2"], standalone_mode=False)
    told = capsys.readouterr().out
    assert OLD in told
    assert NEW in told
    assert "wrong: 1 of 2 (50.0%)" in told


def test_where_there_is_no_terminal_it_says_what_to_do(lived: Indexer) -> None:
    status, output = ask(lived, "--audit", "2")
    assert status == UsageError.exit_code
    assert "--labels FILE" in output
    status, output = ask(lived, "--labels", "x")
    assert status == UsageError.exit_code
    assert "--audit N" in output


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b'{"merged": "a", "into": "b"}', "verdict: missing"),
        (b'{"merged": 1, "into": "b", "verdict": "same"}', "merged: a text is expected"),
        (b'{"merged": "a", "into": "b", "verdict": "same", "why": 1}', "why: no such field"),
    ],
)
def test_a_line_that_is_no_label_is_told(line: bytes, what: str) -> None:
    with pytest.raises(UsageError, match=f"file, line 2: .*{what}"):
        read_labels([b"", line], "file")


def test_the_interval_is_that_of_clopper_and_pearson() -> None:
    for hits, of, least, most in ((0, 60, 0, 0.0596), (3, 100, 0.0062, 0.0852), (5, 5, 0.478, 1)):
        assert interval(hits, of) == pytest.approx((least, most), abs=1e-3)
    assert interval(0, 0) == (0.0, 1.0)
    told = figures({Merged("a", "b"): SAME})
    assert told["interval"] == pytest.approx([0, 0.975])
