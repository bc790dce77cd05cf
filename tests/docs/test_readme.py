"""README is true: its example is run, its commands are there, its keys are what a run reports."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from skymem.app import init_home, open_home
from skymem.cli.main import app
from skymem.jobs import runner
from skymem.jobs.workplace import Workplace
from skymem.model.rules import RetentionRules
from skymem.model.spelling import read_line
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.docs.pages import ROOT, pages, read_through

README = read_through()
EXAMPLE_TIME = 1_700_000_100.0


def _blocks(kind: str) -> list[str]:
    """The code blocks whose fence says `kind`."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.M | re.S)


def _commands() -> Iterator[tuple[str, ...]]:
    for command in app.registered_commands:
        yield (command.name or "",)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            yield (group.name or "", command.name or "")


def test_the_worked_example_holds_to_the_byte(tmp_path: Path) -> None:
    work = Workplace(
        HomePaths(tmp_path), Files(), RetentionRules(), lambda: EXAMPLE_TIME, lambda: None
    )
    tiers = work.paths.agent("sky")
    work.shelf("sky").ensure()
    tiers.short_term.write_text(_blocks("jsonl before short_term.jsonl")[0])
    detail, _ = runner.run(work, "promote", ["sky"])

    assert tiers.short_term.read_text() == _blocks("jsonl after short_term.jsonl")[0]
    assert tiers.long_term.read_text() == _blocks("jsonl after long_term.jsonl")[0]
    assert (detail["promoted"], detail["remaining"]) == (2, 1)

    again, _ = runner.run(work, "rotate", ["sky"])
    assert again["rotated"] is False
    assert "within the limit" in again["why"]


def test_the_worked_example_is_the_source_documents_own() -> None:
    before = [json.loads(line) for line in _blocks("jsonl before short_term.jsonl")[0].splitlines()]
    after = [json.loads(line) for line in _blocks("jsonl after long_term.jsonl")[0].splitlines()]

    assert [one["importance"] for one in before] == [0.3, 0.85, 0.92]
    for one, other in zip(before[1:], after, strict=True):
        assert list(other)[-1] == "id"
        assert other == {**one, "type": "long", "promoted_at": 1700000100, "id": other["id"]}


def test_each_spelling_that_is_shown_can_be_read() -> None:
    shown = [
        line for block in _blocks("json") for line in block.splitlines() if '"content"' in line
    ]

    assert {read_line(line.encode()).spelling for line in shown} == {"ts", "timestamp"}


@pytest.mark.parametrize("name", list(_commands()), ids=" ".join)
def test_each_command_has_help_with_an_example_and_is_in_readme(name: tuple[str, ...]) -> None:
    told = CliRunner().invoke(app, [*name, "--help"], prog_name="skymem").output

    assert f"Example: skymem {name[0]}" in re.sub(r"\s+", " ", told) or "&&" in told
    assert re.search(rf"^###? `skymem {' '.join(name)}`$", README, re.M)


def _keys(detail: dict[str, Any]) -> set[str]:
    inner = [*detail.get("agents", {}).values(), *detail.get("steps", {}).values()]
    return set(detail).union(*(_keys(one) for one in inner)) if inner else set(detail)


def test_each_key_a_run_reports_is_explained(tmp_path: Path) -> None:
    init_home(tmp_path)
    home = open_home(str(tmp_path))
    found: set[str] = set()
    for text in ('{"content": "x", "importance": 1}\nnot json\n', ""):
        with home.paths.agent("sky").short_term.open("a") as stream:
            stream.write(text)
        found |= _keys(home.run_job("memory_rotate_check", dry_run=True)[0])
        found |= _keys(home.run_job("memory_rotate_check")[0])
    section = README.split("## What a run reports")[1].split("\n#")[0]
    explained = set(re.findall(r"`(\w+)`", section))

    assert found - explained == set()


def test_the_two_commands_are_one_line_each() -> None:
    first, second = (block.strip() for block in _blocks("sh")[:2])

    assert first.endswith("skymem run")
    assert "'.[check]'" in second
    assert "pytest" in second
    assert "\n" not in first + second


def test_the_ci_runs_readmes_own_test_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len([line for line in readme.splitlines() if "'.[check]'" in line]) == 1
    assert """grep -F "'.[check]'" README.md""" in (ROOT / ".ci/run").read_text()


def test_each_link_into_the_repository_leads_somewhere() -> None:
    for path in (*pages(), ROOT / "CHANGELOG.md", ROOT / "status/README.md"):
        for target in re.findall(r"\]\((?!https?:)([^) ]*)\)", path.read_text()):
            name, _, anchor = target.partition("#")
            there = path.parent / name if name else path
            assert there.exists(), f"{path.name}: {target}"
            if anchor:
                assert anchor in _anchors(there.read_text()), f"{path.name}: {target}"


def test_each_chapter_is_linked_from_readme() -> None:
    assert {*(ROOT / "docs").glob("*.md")} <= {*pages()}


def _anchors(page: str) -> set[str]:
    """What headings can be linked to by, as GitHub spells it."""
    titles = re.findall(r"^#+ (.*)$", page, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
