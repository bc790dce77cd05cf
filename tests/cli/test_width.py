"""What is printed fits a terminal; in a pipe a line stays whole, for programs."""

import json

import pytest

from tests.cli.conftest import Shell

TEXT = "what was agreed of the report " * 10
COLUMNS = 100


@pytest.fixture
def lived(shell: Shell) -> Shell:
    """A home with long texts everywhere, a long ledger entry and a long alarm."""
    shell("note", "write", "log", TEXT)
    names = [shell("remember", f"{n} {TEXT}").out.strip() for n in range(4)]
    (shell.home / "retention_rules.yaml").write_text("short_term_max_lines: 2\n")
    shell("rotate")
    shell("forget", *names[:3])
    (shell.agent_directory / "long_term.jsonl").write_text("no json\n" * 15)
    return shell


@pytest.mark.parametrize(
    "words",
    [
        ["recent"],
        ["archive", "search", "agreed"],
        ["note", "list"],
        ["trash", "list"],
        ["forget", "--match", "agreed", "--dry-run"],
        ["audit", "log"],
        ["status"],
    ],
    ids=" ".join,
)
def test_it_fits_a_terminal(lived: Shell, words: list[str]) -> None:
    shown = lived.on_a_terminal(COLUMNS, *words).splitlines()

    assert len(shown) > 1 or words[0] == "archive"
    assert max(map(len, shown)) <= COLUMNS


@pytest.mark.parametrize(
    ("words", "lines"),
    [(["recent"], 2), (["archive", "search", "agreed"], 1), (["note", "list"], 2)],
    ids=["recent", "archive search", "note list"],
)
def test_in_a_pipe_the_text_is_whole(lived: Shell, words: list[str], lines: int) -> None:
    told = lived(*words).out.splitlines()

    assert len(told) == lines
    assert told[-1].endswith(TEXT.strip())


def test_nothing_of_an_alarm_is_lost_where_it_wraps(lived: Shell) -> None:
    whole = [line for line in lived("status").out.splitlines() if line.startswith("alarm")]
    assert max(map(len, whole)) > COLUMNS, "or there is nothing to wrap"
    shown = lived.on_a_terminal(COLUMNS, "status").splitlines()
    first = next(at for at, line in enumerate(shown) if line.startswith("alarm"))

    alarms = [line for line in shown[first:] if line.startswith(("alarm", " "))]
    assert " ".join(" ".join(alarms).split()) == " ".join(" ".join(whole).split())
    assert all(line.startswith(("alarm   ", "        ")) for line in alarms)


def test_nothing_of_the_ledger_is_lost_where_it_wraps(lived: Shell) -> None:
    whole = lived("audit", "log").out
    assert max(map(len, whole.splitlines())) > COLUMNS, "or there is nothing to wrap"
    shown = lived.on_a_terminal(COLUMNS, "audit", "log")

    assert shown.split() == whole.split()
    assert "\n    " in shown


def test_trash_in_a_pipe_has_whole_ids_and_moments(lived: Shell) -> None:
    told = lived("trash", "list").out.splitlines()
    one = lived("trash", "list", "--json").json["trash"][0]

    assert "removed (UTC)" in told[0]
    assert "kept until (UTC)" in told[0]
    assert one["id"] in told[1]
    assert told[1].count(":") >= 4
    assert json.dumps(TEXT[:20]).strip('"') in told[1]
