"""`skymem pref`: what is set in one process is got in the next, with codes and JSON to rely on."""

import json

import pytest

from tests.cli.conftest import Shell, boundary_left_clean, shell
from tests.working.preferring import DECLARED

__all__ = ["boundary_left_clean", "shell"]

KEYS = {
    *("id", "tier", "key", "rule", "value", "text", "condition", "effect", "how", "user_id", "ts"),
    *("tags", "origin", "trust", "supersedes", "evidence_ids"),
}


@pytest.fixture
def declared(shell: Shell) -> Shell:
    (shell.home / "retention_rules.yaml").write_text(DECLARED)
    return shell


def test_what_is_set_is_got_listed_and_kept_as_history(shell: Shell) -> None:
    nobody = shell("pref", "get", "verbosity")
    assert (nobody.code, nobody.out) == (24, "")
    first = shell("pref", "set", "verbosity", "terse", "--user", "ann").out.strip()
    again = shell("pref", "set", "verbosity", "terse", "--user", "ann")
    assert again.out == f"{first}  (as it was)\n"
    done = shell("pref", "set", "verbosity", "full", "--user", "ann", "--json").json

    assert (done["written"], done["was"]["id"]) == (True, first)
    assert done["preference"].keys() == KEYS
    assert shell.process("pref", "get", "verbosity", "--user", "ann").out == "full\n"
    assert shell("pref", "get", "verbosity").code == 24
    assert shell("pref", "get", "verbosity", "--user", "ann", "--json").json["id"] == done["id"]
    (listed,) = shell("pref", "list", "--json").json["preferences"]
    assert (listed["value"], listed["user_id"]) == ("full", "ann")
    assert "verbosity: full" in shell("pref", "list").out
    assert shell("promote").code == 0
    history = shell("pref", "history", "verbosity", "--json").json["history"]
    assert [(one["value"], one["state"], one["tier"]) for one in history] == [
        ("terse", "superseded", "long"),
        ("full", "active", "long"),
    ]
    assert history[0]["superseded_by"] == done["id"]
    assert "superseded" in shell("pref", "history", "verbosity").out
    assert shell("pref", "history", "nothing").code == 24


def test_typed_values_are_read_as_they_are_declared(declared: Shell) -> None:
    assert declared("pref", "get", "analysis_depth").out == "normal\n"
    for key, typed, value in (("pages", "7", 7), ("regions", "eu,us", ["eu", "us"])):
        assert declared("pref", "set", key, typed, "--json").json["preference"]["value"] == value
    assert declared("pref", "get", "regions").out == "eu, us\n"
    assert declared("pref", "set", "pages", "7").out.endswith("(as it was)\n")
    wrong = declared("pref", "set", "pages", "many")
    assert (wrong.code, wrong.out) == (2, "")
    assert '"many" is no whole number' in wrong.err
    for verb in (("set", "verbositty", "full"), ("get", "verbositty")):
        told = declared("pref", *verb)
        assert told.code == 2
        assert 'did you mean "verbosity"?' in told.err


def test_a_rule_is_applied_and_says_by_which(shell: Shell) -> None:
    shell("pref", "set", "verbosity", "full")
    when, effect = '{"persona": {"in": ["cfo", "ceo"]}}', '{"verbosity": "terse", "charts": true}'
    rule = shell("pref", "rule", "board", "--when", when, "--effect", effect).out.strip()
    told = shell("pref", "apply", '{"persona": "cfo"}', "--json").json

    assert told["effects"] == {"verbosity": "terse", "charts": True}
    assert told["by"]["verbosity"]["id"] == rule
    assert [one["value"] for one in told["overruled"]] == ["full"]
    assert shell("pref", "apply", "{}", "--json").json["effects"] == {"verbosity": "full"}
    words = shell("pref", "apply", '{"persona": "cfo"}').out
    assert "verbosity: terse  (by board" in words
    assert "  not verbosity: full" in words
    conditional = shell("pref", "set", "tone", "warm", "--when", '{"flow": "mail"}')
    assert conditional.code == 0
    assert shell("pref", "get", "tone").code == 24
    assert shell("pref", "apply", '{"flow": "mail"}', "--json").json["effects"]["tone"] == "warm"


def test_what_is_unset_is_gone_and_can_be_brought_back(shell: Shell) -> None:
    ids = [shell("pref", "set", "verbosity", one).out.strip() for one in ("terse", "full")]
    shell("pref", "set", "verbosity", "none", "--user", "ann")
    assert shell("promote").code == 0
    ids.append(shell("pref", "set", "verbosity", "chatty").out.strip())
    assert shell("pref", "unset", "verbosity", "--dry-run").out == "would be: 3 forgotten\n"
    gone = shell("pref", "unset", "verbosity", "--json").json

    assert sorted(gone["forgotten"]) == sorted(ids)
    assert shell("pref", "get", "verbosity").code == 24
    assert shell("pref", "get", "verbosity", "--user", "ann").out == "none\n"
    assert shell("pref", "unset", "verbosity").code == 24
    assert shell("restore", ids[-1]).code == 0
    assert shell("pref", "get", "verbosity").out == "chatty\n"


@pytest.mark.parametrize(
    ("when", "fault"),
    [
        ('{"a": {"lt": 3}, "b": null}', 'condition.a: unknown test "lt"'),
        ("[1]", "--when: not an object but a list; give a JSON object such as"),
        ("persona == 'x'", "--when: not JSON"),
        ('{"a": 1, "a": 2}', "a key stands twice"),
        ('{"a": NaN}', "NaN and Infinity are not JSON"),
        ('{"__import__(\'os\')": {"$where": "1"}}', "unknown test"),
    ],
)
def test_what_is_no_condition_is_refused(shell: Shell, when: str, fault: str) -> None:
    told = shell("pref", "set", "k", "v", "--when", when)

    assert (told.code, told.out) == (2, "")
    assert fault in told.err
    assert not shell.short_term.exists()


def test_it_is_found_by_words_and_says_that_it_is_degraded(declared: Shell) -> None:
    declared("pref", "set", "analysis_depth", "deep", "--tag", "style")
    declared("pref", "set", "pages", "3")
    told = declared("pref", "find", "how deep is the analysis", "--json")

    first, second = told.json["results"]
    assert (first["key"], first["hop"], first["via"]) == ("analysis_depth", 0, None)
    assert second["via"] == {"id": first["id"], "preference": "analysis_depth", "by": "related"}
    assert (told.json["mode"], len(told.json["degraded"])) == ("words", 1)
    assert "words alone" in told.err
    assert "(with analysis_depth: related)" in declared("pref", "find", "deep analysis").out
    assert declared("pref", "find", "zebra").out == ""


def test_text_of_a_preference_can_t_command_the_terminal(shell: Shell) -> None:
    shell("pref", "set", "k", "red \x1b[31m")
    shell("pref", "rule", "r", "--when", '{"a": 1}', "--effect", '{"x": "\\u001b[31m"}')

    for words in (("get", "k"), ("list",), ("history", "k"), ("apply", '{"a": 1}')):
        told = shell("pref", *words)
        assert told.code == 0
        assert "\x1b" not in told.out
    assert json.loads(shell("pref", "get", "k", "--json").out)["value"] == "red \x1b[31m"


def test_bytes_that_are_no_text_are_refused(shell: Shell) -> None:
    assert shell("pref", "set", "k", "a\udcff").code == 2
    assert shell("pref", "set", "k\udcff", "a").code == 2
    assert not shell.short_term.exists()
