"""`status` says in words what the last action did, whichever it was; what was refused is none."""

import json
import re

import pytest

from skymem.app import open_home
from tests.cli.conftest import Shell


@pytest.fixture
def name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a memory in long-term."""
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    made = shell("remember", "reports at seven", "--importance", "0.9").out.strip()
    shell("promote")
    return made


def last(shell: Shell) -> str:
    """What the status says was done last, without its time."""
    (line,) = re.findall(r"^last    \S+ \S+  (.*)$", shell("status").out, re.MULTILINE)
    return str(line)


def test_each_action_is_told_in_words(shell: Shell, name: str) -> None:
    told = [last(shell)]
    for words in (
        ["pin", name],
        ["unpin", name],
        ["forget", name],
        ["restore", name],
        ["correct", name, "reports at eight"],
        ["undo"],
        ["compact"],
    ):
        shell(*words)
        told.append(last(shell))

    assert told == [
        "promote: 1 promoted, 0 remain in short-term",
        "pin: 1 pinned",
        "unpin: 1 unpinned",
        "forget: 1 forgotten, 0 remain in short-term",
        "restore: 1 brought back",
        "correct: 1 corrected, 0 remain in short-term",
        "undo: 0 brought back, 1 of its own moved to trash",
        "compact: 0 gone for good (nothing has lain in trash for its grace)",
    ]


def test_an_action_of_another_version_is_told_as_well_as_can_be(shell: Shell) -> None:
    open_home(str(shell.home)).record("polish", {"ok": True})
    assert last(shell) == "polish: done"


def test_a_correction_is_pinned_with_no_action_of_its_own(shell: Shell, name: str) -> None:
    shell("pin", name)
    shell("correct", name, "reports at eight")
    actions = [
        json.loads(line)["action"]
        for line in (shell.home / "status/actions.jsonl").read_text().splitlines()
    ]
    assert actions == ["promote", "pin", "correct"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["correct", "{name}", ""], "a correction has no text"),
        (["correct", "{name}", "reports at seven"], "what the memory says already"),
        (["correct", "{name}", "", "--json"], "a correction has no text"),
        (["correct", "{name}", "", "--dry-run"], "a correction has no text"),
        (["note", "merge", "{name}"], "two notes or more"),
    ],
)
def test_what_was_asked_for_wrongly_is_no_action(
    shell: Shell, name: str, words: list[str], told: str
) -> None:
    before = (shell.home / "status/actions.jsonl").read_bytes()
    refused = shell(*(word.format(name=name) for word in words))

    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err
    assert (shell.home / "status/actions.jsonl").read_bytes() == before
    assert last(shell).startswith("promote: ")


def test_what_failed_at_work_is_an_action(shell: Shell, name: str) -> None:
    (shell.agent_directory / "protected.json").write_text("{garbage")
    told = shell("forget", name)

    assert told.code == 20
    assert re.match(r"forget: failed: sky: \S*protected.json can't be read", last(shell))
