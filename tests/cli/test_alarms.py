"""`alarms`: what is wrong with its id, since when, what to do; and what an id means."""

from skymem.model.alarm import ALARMS
from tests.cli.conftest import RULES, Shell


def test_an_alarm_is_shown_with_its_id_and_what_to_do(shell: Shell) -> None:
    assert shell("alarms").out == "healthy\n"
    (shell.agent_directory / "notes.jsonl").write_text("{}\n")
    told = shell("alarms")

    assert told.code == 0, "it tells; `check` is for monitors"
    first, second = told.out.splitlines()
    assert first.startswith("memory/sky/'notes.jsonl' is read by nobody")
    assert first.endswith(" [unread_growth]")
    assert second == f"        {ALARMS['unread_growth'].remedy}"
    assert f"alarm   {first}" in shell("status").out
    assert f"reason  {first}" in shell("check").out


def test_since_when_is_told_where_it_is_known(shell: Shell) -> None:
    (shell.agent_directory / "long_term.jsonl").mkdir()
    shell("remember", "a decision", "--importance", "0.9")
    shell("promote")
    failed = next(one for one in shell("alarms").out.split("\n") if "trigger promote" in one)
    assert failed.startswith("        since 20")


def test_an_id_is_explained_and_an_unknown_one_is_refused(shell: Shell) -> None:
    assert ALARMS["flood"].meaning in " ".join(shell("alarms", "--explain", "flood").out.split())
    told = shell("alarms", "--explain", "all", "--json").json["alarms"]
    assert [one["id"] for one in told] == [*ALARMS]
    assert all(one.keys() == {"id", "meaning", "remedy"} for one in told)
    wrong = shell("alarms", "--explain", "floods")
    assert (wrong.code, 'did you mean "flood"' in wrong.err) == (2, True)


def test_one_that_is_switched_off_is_none_and_a_misspelled_one_is_refused(shell: Shell) -> None:
    (shell.agent_directory / "notes.jsonl").write_text("{}\n")
    rules = shell.home / "retention_rules.yaml"
    rules.write_text(f"{RULES}alarms: {{off: [unread_growth]}}\n")
    assert shell.alarms() == []
    assert shell("check").code == 0
    rules.write_text(f"{RULES}alarms: {{off: [unread_grow]}}\n")
    assert 'did you mean "unread_growth"' in shell("config", "check").out


def test_what_would_send_anything_unencrypted_or_by_a_search_path_is_refused(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    for said, reason in (
        ("webhook: http://example.org/x", "would go unencrypted"),
        ("webhook: 'https://user:secret@example.org/x'", "more than an address"),
        ("command: [tell-me]", "absolute path"),
        ("command: tell-me", "must be a list"),
        ("token_env: hunter2", "no name of an environment variable"),
    ):
        rules.write_text(f"{RULES}alarms: {{{said}}}\n")
        told = shell("config", "check").out
        assert reason in told
        assert "hunter2" not in told
        assert "secret@" not in told
