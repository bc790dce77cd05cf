"""Names and files a verb can't use: it says so, and makes nothing."""

from pathlib import Path

import pytest

from skymem.stores.lock import held
from tests.cli.conftest import Shell


@pytest.mark.parametrize("words", [["promote", "--dry-run"], ["show", "a"], ["promote"]])
def test_a_linked_agent_directory_is_not_even_read(
    shell: Shell, tmp_path: Path, words: list[str]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "short_term.jsonl").write_text('{"content": "x", "importance": 1, "id": "abc"}\n')
    (shell.home / "memory/linked").symlink_to(outside)
    told = shell("--agent", "linked", *words)

    assert told.code == 30
    assert "symbolic link" in told.err
    assert [path.name for path in outside.iterdir()] == ["short_term.jsonl"]


@pytest.mark.parametrize("words", [["promote"], ["rotate", "--dry-run"]])
def test_a_mistyped_agent_is_refused_with_the_names_there_are(
    shell: Shell, words: list[str]
) -> None:
    shell("--agent", "hobbs", "remember", "x")
    told = shell("--agent", "skyy", *words)

    assert told.code == 2
    assert 'no agent "skyy" here; there are: hobbs, sky (' in told.err
    assert not (shell.home / "memory/skyy").exists()


def test_the_default_agent_is_made_from_the_flat_file(shell: Shell) -> None:
    shell.agent_directory.rmdir()
    (shell.home / "memory/short_term.jsonl").write_text('{"ts": 1, "content": "x"}\n')

    assert shell("--agent", "sky", "promote").code == 0


def test_an_id_that_is_no_utf_8_is_unknown(shell: Shell) -> None:
    told = shell("show", "\udcff")

    assert told.code == 24
    assert "no such memory" in told.err


GOOD_PLAN = (
    '{"job": "promote", "agent": "sky", "decisions": [], "kept": {}, "lines": 0, '
    '"threshold": 0.7, "inputs": null, "unfinished": false}'
)
BAD_PLANS = [
    pytest.param('{"skymem_plan": 1, "job": "promote", "plans": []}', id="no plans"),
    pytest.param(f'{{"skymem_plan": 1, "job": "brew", "plans": [{GOOD_PLAN}]}}', id="job"),
    pytest.param(f'{{"skymem_plan": 1, "job": "rotate", "plans": [{GOOD_PLAN}]}}', id="other job"),
    pytest.param(
        f'{{"skymem_plan": 1, "job": "promote", "plans": [{GOOD_PLAN.replace("{}", "[]")}]}}',
        id="kept is a list",
    ),
    pytest.param(
        '{"skymem_plan": 1, "job": "promote", "plans": ['
        + GOOD_PLAN.replace('"lines": 0', '"lines": Infinity')
        + "]}",
        id="endless lines",
    ),
    pytest.param('{"skymem_plan": 1, "job": "promote", "plans": [7]}', id="a number"),
    pytest.param("[" * 100_000, id="deep nesting"),
]


@pytest.mark.parametrize("text", BAD_PLANS)
def test_what_is_no_plan_is_refused(shell: Shell, text: str) -> None:
    plan = shell.home / "plan.json"
    plan.write_text(text)
    told = shell("apply", str(plan))

    assert told.code == 22
    assert "is not a plan this version wrote" in told.err


def test_a_result_that_can_not_be_recorded_is_told_all_the_same(
    shell: Shell, tmp_path: Path
) -> None:
    shell("remember", "x", "--importance", "0.9")
    (shell.home / "status").mkdir()
    (shell.home / "status/sky_last_action.json").symlink_to(tmp_path / "elsewhere")
    told = shell("promote", "--json")

    assert told.json["promoted"] == 1
    assert "symbolic link" in "".join(told.json["degraded"])


def test_a_result_is_told_while_another_process_holds_the_status(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.stores.status.LOCK_SECONDS", 0.05)
    shell("remember", "x", "--importance", "0.9")
    (shell.home / "run").mkdir(exist_ok=True)
    with held(shell.home / "run/status.lock", "a backup", deadline_seconds=1):
        told = shell("promote", "--json")

    assert (told.code, told.json["promoted"]) == (0, 1)
    assert "a backup" in "".join(told.json["degraded"])
