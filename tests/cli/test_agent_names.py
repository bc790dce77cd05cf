"""One gate for agent names, at every door (hazard H2)."""

import os
from pathlib import Path

import pytest

import skymem
from skymem.errors import AgentNameError
from tests.cli.conftest import Shell

BAD = [
    pytest.param("../../etc/x", id="out of the home"),
    pytest.param("/abs", id="absolute"),
    pytest.param("a/b", id="a path"),
    pytest.param(".", id="this directory"),
    pytest.param("..", id="the directory above"),
    pytest.param("", id="empty"),
    pytest.param("-rf", id="an option"),
    pytest.param("a\nb", id="newline"),
    pytest.param("sky\n", id="trailing newline"),
    pytest.param("a" * 300, id="300 bytes"),
    pytest.param("Sky", id="twin in case"),
    pytest.param("skÿ", id="composed"),
    pytest.param("sky\u0308", id="decomposed"),
    pytest.param("ѕky", id="look-alike"),
    pytest.param("sk y", id="space"),
    pytest.param("sky.", id="dot"),
]
DOORS = [
    pytest.param(["remember", "x"], id="remember"),
    pytest.param(["show", "a"], id="show"),
    pytest.param(["promote"], id="promote"),
    pytest.param(["rotate"], id="rotate"),
    pytest.param(["trigger", "memory_rotate_check"], id="trigger"),
]


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("words", DOORS)
def test_a_bad_name_is_refused_and_makes_nothing(
    shell: Shell, tmp_path: Path, name: str, words: list[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    told = shell(f"--agent={name}", *words)

    assert (told.code, told.out) == (30, "")
    assert "is not allowed" in told.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", [each.values[0] for each in BAD if each.values[0]])
def test_a_bad_name_in_the_environment_is_refused(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SKYMEM_AGENT", name)

    assert shell("remember", "x").code == 30


@pytest.mark.parametrize("name", [*[each.values[0] for each in BAD], "a\0b"])
def test_a_bad_name_is_refused_by_the_python_door(shell: Shell, name: str) -> None:
    with pytest.raises(AgentNameError):
        skymem.open_memory(agent=str(name), home=str(shell.home))


@pytest.mark.parametrize("name", ["sky", "0", "a-b_c9", "a" * 64, "null", "no"])
def test_a_good_name_makes_its_own_directory(shell: Shell, name: str) -> None:
    assert shell("--agent", name, "remember", "x").code == 0
    assert (shell.home / "memory" / name / "short_term.jsonl").stat().st_size > 0


def test_the_agent_of_the_environment_is_the_one_when_none_is_named(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_AGENT", "hobbs")

    assert shell("remember", "x").code == 0
    assert (shell.home / "memory/hobbs/short_term.jsonl").exists()


def test_a_linked_agent_directory_is_left_alone_and_told(shell: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "short_term.jsonl").write_text('{"content": "x", "importance": 1}\n')
    os.symlink(outside, shell.home / "memory/linked")
    told = shell("promote", "--json")

    assert "linked" not in told.json["agents"]
    assert shell("--agent", "linked", "remember", "x").code != 0
    assert [path.name for path in outside.iterdir()] == ["short_term.jsonl"]
    assert any("linked" in alarm for alarm in shell.alarms())


def test_a_directory_with_a_bad_name_is_left_alone_and_told(shell: Shell) -> None:
    (shell.home / "memory/Sky").mkdir()
    told = shell("promote", "--json")

    assert list(told.json["agents"]) == ["sky"]
    assert any("Sky" in alarm for alarm in shell.alarms())
    assert shell("doctor").code == 20
