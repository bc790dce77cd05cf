"""The command line in a process an agent started is bound to that agent (row M7)."""

import pytest

from tests.cli.conftest import Shell, Told


@pytest.fixture
def theirs(shell: Shell) -> str:
    """The id of what hobbs remembers; sky remembers something as well."""
    shell("remember", "sky likes mornings", "--importance", "0.9")
    told = shell("--agent", "hobbs", "remember", "a secret of hobbs", "--json")
    return str(told.json["id"])


@pytest.fixture
def bound(shell: Shell, theirs: str, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "sky")
    return shell


def recorded(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Whose, and by which door; as the operator sees it."""
    monkeypatch.delenv("SKYMEM_BOUND_AGENT")
    told = shell("agents", "violations", "--json").json
    assert told["count"] == len(told["violations"])
    return [(one["whose"], one["door"]) for one in told["violations"]]


def refused(told: Told) -> bool:
    one_line = told.err.count("\n") == 1
    return told.code == 30 and not told.out and one_line and "a secret" not in told.err


@pytest.mark.parametrize(
    "words",
    [
        ["remember", "x"],
        ["recall", "secret"],
        ["recent"],
        ["promote"],
        ["status"],
        ["check"],
        ["fsck"],
        ["agents", "list"],
        ["audit", "log"],
        ["note", "list"],
        ["trash", "list"],
        ["context"],
    ],
    ids=" ".join,
)
def test_another_agent_is_refused_by_name(
    bound: Shell, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    assert refused(bound("--agent", "hobbs", *words))
    door = "cli:" + " ".join(words[: 2 if words[0] in ("agents", "audit", "note", "trash") else 1])
    assert recorded(bound, monkeypatch) == [("hobbs", door)]


@pytest.mark.parametrize("verb", ["show", "explain", "forget", "pin", "restore"])
def test_the_id_of_another_agents_memory_is_refused(
    bound: Shell, theirs: str, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    assert refused(bound(verb, theirs))
    assert recorded(bound, monkeypatch) == [("hobbs", f"cli:{verb}")]


@pytest.mark.parametrize(
    "words",
    [
        ["promote"],
        ["trigger", "memory_rotate_check"],
        ["status"],
        ["check"],
        ["jobs"],
        ["pause", "memory_rotate_check"],
        ["audit", "verify"],
        ["audit", "log"],
        ["agents", "list"],
        ["agents", "violations"],
        ["index", "--stats"],
        ["fsck"],
        ["doctor"],
        ["undo"],
        ["run", "--once"],
    ],
    ids=" ".join,
)
def test_what_is_about_the_whole_home_is_the_operators(
    bound: Shell, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    assert refused(bound(*words))
    whose = {whose for whose, _ in recorded(bound, monkeypatch)}
    assert whose == {"*"}


@pytest.mark.parametrize("name", ["../hobbs", "hobbs/x", "Hobbs", "h" * 300, ""])
def test_a_path_for_a_name_is_on_record(
    bound: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert refused(bound(f"--agent={name}", "recent"))
    assert recorded(bound, monkeypatch) == [("?", "cli:recent")]


def test_the_environments_agent_is_no_way_round(
    bound: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_AGENT", "hobbs")
    assert refused(bound("recent"))
    assert refused(bound("remember", "x"))
    assert [whose for whose, _ in recorded(bound, monkeypatch)] == ["hobbs", "hobbs"]


def test_its_own_work_goes_on(bound: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    name = bound("remember", "sky likes tea", "--json").json["id"]

    assert bound("show", name).code == 0
    assert "sky likes tea" in bound("recent").out
    assert bound("recall", "tea", "--json").json["results"][0]["content"] == "sky likes tea"
    for words in (["promote"], ["status"], ["fsck"], ["agents", "list"], ["audit", "log"]):
        assert bound("--agent", "sky", *words).code in (0, 23), words
    assert bound("trash", "list").code == 0
    listed = bound("--agent", "sky", "agents", "list", "--json").json["agents"]
    assert [one["name"] for one in listed] == ["sky"]
    assert bound("forget", name).code == 0
    assert recorded(bound, monkeypatch) == []


def test_it_is_an_alarm_until_somebody_has_looked(
    bound: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound("--agent", "hobbs", "recent")
    monkeypatch.delenv("SKYMEM_BOUND_AGENT")
    status, check = bound("status", "--json").json, bound("check", "--json")

    assert status["violations"]["count"] == status["violations"]["open"] == 1
    assert status["violations"]["agents"]["sky"]["last"]["whose"] == "hobbs"
    assert check.code == 23
    assert any("reached for" in reason for reason in check.json["reasons"])
    assert bound("--agent", "hobbs", "status", "--json").json["violations"]["count"] == 0
    dry = bound("agents", "violations", "--acknowledge", "--dry-run", "--json").json
    assert dry["acknowledged"] == 1
    assert bound("check").code == 23
    assert "acknowledged 1" in bound("agents", "violations", "--acknowledge").out
    assert bound("check").code == 0
    assert "1 violation(s), all seen" in bound("status").out
    assert bound("audit", "verify").code == 0


def test_the_operators_own_command_line_is_bound_to_nobody(shell: Shell, theirs: str) -> None:
    assert shell("--agent", "hobbs", "show", theirs).code == 0
    assert shell("show", theirs).code == 24  # of sky there is none, and nothing was crossed
    assert shell("agents", "violations", "--json").json["count"] == 0
