"""Rules that can't be used: jobs refuse; who remembers or recalls goes on, and is told."""

import warnings
from pathlib import Path

import pytest

import skymem
from skymem.app import open_home
from skymem.errors import ConfigurationError
from tests.cli.conftest import RULES, Shell

TYPO = "retention_rules.yaml:3:1: unknown key"
FAULTY = [
    pytest.param(RULES + "promote_treshold: 0.5\n", TYPO, id="a mistyped key"),
    pytest.param("promote_threshold: 70\n", "retention_rules.yaml:1:20: ", id="out of range"),
    pytest.param("{]: :\n", "retention_rules.yaml:1:2: not readable", id="no YAML"),
    pytest.param("", "retention_rules.yaml:1:1: the file is empty", id="empty"),
]


@pytest.fixture
def faulty(shell: Shell) -> Shell:
    """A home with a memory in short-term and one in long-term, then a slip in the rules."""
    shell("remember", "reports at seven", "--importance", "0.9")
    shell("promote")
    shell("remember", "reports are weekly")
    (shell.home / "retention_rules.yaml").write_text(RULES + "promote_treshold: 0.5\n")
    return shell


@pytest.mark.parametrize(("text", "fault"), FAULTY)
def test_what_an_agent_wants_to_remember_is_kept(shell: Shell, text: str, fault: str) -> None:
    (shell.home / "retention_rules.yaml").write_text(text)
    told = shell("remember", "not to be lost")
    many = shell("remember", "--stdin", stdin=b'{"content": "nor this"}\n')
    note = shell("note", "write", "log", "nor that")

    for one in (told, many, note):
        assert one.code == 0
        assert f"skymem: {fault}" in one.err
        assert "jobs wait until it is mended" in one.err
    assert shell.short_term.read_bytes().count(b"\n") == 3
    (shell.home / "retention_rules.yaml").write_text(RULES)
    assert shell("promote", "--json").json["eligible"] == 3


READS = [
    ["recall", "reports"],
    ["recent"],
    ["context", "reports"],
    ["archive", "search", "reports"],
    ["agents", "list"],
    ["note", "list"],
    ["profile"],
    ["project", "list"],
]


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_who_reads_is_answered_and_told(faulty: Shell, words: list[str]) -> None:
    told = faulty(*words)

    assert told.code == 0
    assert TYPO in told.err
    assert "Traceback" not in told.err


def test_recall_finds_all_and_says_degraded(faulty: Shell) -> None:
    found = faulty("recall", "reports", "--json").json

    assert {one["tier"] for one in found["results"]} == {"short", "long"}
    assert any(TYPO in reason for reason in found["degraded"])
    assert not (faulty.home / "state/recalled").exists(), "that it may be counted is not known"


@pytest.mark.parametrize("verb", ["status", "check", "doctor"])
def test_who_looks_sees_each_fault_once(faulty: Shell, verb: str) -> None:
    told = faulty(verb)

    assert told.out.count(TYPO) == 1
    assert TYPO not in told.err
    assert told.code == {"status": 0, "check": 23, "doctor": 20}[verb]
    assert faulty("status", "--json").json["health"] == "degraded"


REFUSED = [
    ["promote"],
    ["prune", "--dry-run"],
    ["trigger", "memory_rotate_check"],
    ["run", "--once"],
    ["undo"],
    ["forget", "--match", "reports"],
    ["compact"],
    ["index"],
    ["config", "show"],
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_goes_by_the_rules_refuses_and_changes_nothing(
    faulty: Shell, words: list[str]
) -> None:
    before = faulty.snapshot()
    told = faulty(*words)

    assert (told.code, told.out) == (78, "")
    assert TYPO in told.err
    assert faulty.snapshot() == before


def test_no_job_runs_by_a_makeshift(faulty: Shell) -> None:
    home = open_home(str(faulty.home), lenient=True)
    before = faulty.snapshot()
    with pytest.raises(ConfigurationError, match="unknown key"):
        home.run_job("prune")

    assert faulty.snapshot() == before


def test_what_could_be_read_of_the_rules_holds(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    rules.write_text(RULES + "line_max: 1KiB\nrecall_logg: true\n")
    told = shell("remember", "x" * 2000)

    assert told.code == 2
    assert "longer than 1024 bytes" in told.err
    rules.write_text(RULES + "line_max: 1\n")
    assert shell("remember", "x" * 2000).code == 0, "the default"


def _files(shell: Shell, agent: str) -> tuple[int, int]:
    directory = shell.home / "memory" / agent
    return directory.stat().st_mode & 0o777, (directory / "short_term.jsonl").stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("before", "faulty", "modes"),
    [
        pytest.param("access: group", "access: group\nx: 1", (0o770, 0o660), id="said well"),
        pytest.param("access: group", "access: grup", (0o770, 0o660), id="not said well"),
        pytest.param("access: group", "{]:", (0o770, 0o660), id="not to be read"),
        pytest.param("access: private", "access: grup", (0o700, 0o600), id="private before"),
        pytest.param("access: group", "access: private\nx: 1", (0o700, 0o600), id="private now"),
        pytest.param("access: group", "x: 1", (0o700, 0o600), id="said no more"),
    ],
)
def test_who_may_read_is_as_it_was_unless_the_file_says_it_well(
    shell: Shell, before: str, faulty: str, modes: tuple[int, int]
) -> None:
    rules = shell.home / "retention_rules.yaml"
    rules.write_text(RULES + before + "\n")
    (shell.home / "memory/sky").rmdir()
    (shell.home / "memory").rmdir()
    assert shell("remember", "x").code == 0
    rules.write_text(RULES + faulty + "\n")
    assert shell("--agent", "hobbs", "remember", "x").code == 0

    assert _files(shell, "hobbs") == modes


def test_python_warns_and_goes_on(faulty: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYMEM_HOME", str(faulty.home))
    for act in (
        lambda: skymem.open_memory(agent="sky").remember("by a program"),
        lambda: skymem.remember_short("by another"),
        lambda: skymem.write_note("log", "by a third"),
    ):
        with pytest.warns(UserWarning, match="unknown key") as caught:
            act()
        assert Path(caught[0].filename).name in (Path(__file__).name, "names.py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = skymem.open_memory(agent="sky").recall("by a program")
    assert found[0].content == "by a program"
    assert any("unknown key" in reason for reason in found.degraded)
    with pytest.raises(ConfigurationError):
        skymem.run_once()
