"""An answer sheet in YAML or JSON: all of its problems at once, all of it or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from skymem.errors import InvalidMemoryError, UsageError
from skymem.working.preferences import Preferences
from tests.cli.conftest import Shell, boundary_left_clean, shell
from tests.working.preferring import DECLARED, again, clock, declared, home, lines

__all__ = ["boundary_left_clean", "clock", "declared", "home", "shell"]

SHEET = """\
user: ann
preferences:
  verbosity: terse
  pages: 12
  regions: [eu, us]
  analysis_depth:
    value: deep
    when: {persona: analyst, flow: {in: [report, brief]}}
    tags: [finance]
rules:
  - name: board
    when: {any: [{persona: cfo}, {persona: ceo}]}
    effect: {verbosity: terse, charts: true}
"""
AS_JSON = {
    "user": "ann",
    "preferences": {
        "verbosity": "terse",
        "pages": 12,
        "regions": ["eu", "us"],
        "analysis_depth": {
            "value": "deep",
            "when": {"persona": "analyst", "flow": {"in": ["report", "brief"]}},
            "tags": ["finance"],
        },
    },
    "rules": [
        {
            "name": "board",
            "when": {"any": [{"persona": "cfo"}, {"persona": "ceo"}]},
            "effect": {"verbosity": "terse", "charts": True},
        }
    ],
}


def sheet(home: Path, text: str, name: str = "answers.yaml") -> Path:
    path = home / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", SHEET),
        ("a.yml", json.dumps(AS_JSON)),
        ("a.json", json.dumps(AS_JSON)),
        ("a.JSON", json.dumps(AS_JSON, indent="\t")),
    ],
)
def test_what_it_answers_is_written(
    declared: Preferences, home: Path, name: str, text: str
) -> None:
    path = sheet(home, text, name)
    done = declared.onboard(path)

    assert [one.new for one in done] == [True] * 5
    assert {(line["user_id"], line["payload"]["how"]) for line in lines(home)} == {
        ("ann", "onboarding")
    }
    found = again(home)
    assert found.get("regions", user_id="ann") == ["eu", "us"]
    applied = found.apply({"persona": "analyst", "flow": "brief"}, user_id="ann")
    assert applied.values == {
        "analysis_depth": "deep",
        "verbosity": "terse",
        "pages": 12,
        "regions": ["eu", "us"],
    }
    assert found.apply({"persona": "ceo"}, user_id="ann")["charts"] is True
    assert [one.new for one in found.onboard(path)] == [False] * 5
    assert [one.new for one in found.onboard(path, user_id="bob")] == [True] * 5


def test_letters_beyond_the_first_plane_are_whole(declared: Preferences, home: Path) -> None:
    path = sheet(home, r'{"rules": [{"name": "\ud83d\ude00", "when": {"a": "\ud83d\ude00"},'
                 r' "effect": {"b": "\u00e9\/"}}]}', "a.json")  # fmt: skip
    declared.onboard(path)

    assert declared.apply({"a": "😀"}).effects["b"].by.rule == "😀"
    assert declared.apply({"a": "😀"})["b"] == "é/"


FAULTY = """\
usr: ann
preferences:
  verbositty: terse
  verbosity: ters
  pages: 12.5
  analysis_depth: {valu: deep}
  regions: {value: [eu], when: {a: {lt: 3}}, effect: {verbosity: loud}, tags: x}
rules:
  - {name: a, when: {x: 1}, effect: {y: 1}}
  - {name: a, when: {}, effect: {y: {z: 1}}}
  - {nam: b, when: {x: 1}}
  - just words
"""
FAULTS = (
    '1:1: unknown key "usr" (did you mean "user"?)',
    '3:3: no preference "verbositty" is declared (did you mean "verbosity"?)',
    '4:14: verbosity: "ters" is not one of terse, full (did you mean "terse"?)',
    "5:10: pages: 12.5 is no whole number",
    '6:20: unknown key "valu" (did you mean "value"?)',
    '6:19: "analysis_depth" has no value',
    '7:32: condition.a: unknown test "lt"',
    '7:54: effect.verbosity: "loud" is not one of',
    "7:79: tags: not a list of texts",
    '10:12: a second rule "a"',
    "10:21: condition: not an object",
    "10:33: effect.y: ",
    '11:6: unknown key "nam" (did you mean "name"?)',
    "11:5: a rule needs name, effect",
    "12:5: this is no rule (such as",
)


def test_every_problem_is_told_at_once_and_nothing_is_written(
    declared: Preferences, home: Path
) -> None:
    path = sheet(home, FAULTY)
    with pytest.raises(InvalidMemoryError) as caught:
        declared.onboard(path)

    told = str(caught.value)
    for fault in FAULTS:
        assert f"{path}:{fault}" in told
    assert len(told.splitlines()) == len(FAULTS)
    assert lines(home) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1:1: the file is empty (it needs keys such as"),
        ("[1]", "the file is a list at the top"),
        ("user: ann", "1:1: the sheet answers nothing"),
        ("preferences: terse", "1:14: preferences must be a mapping of answers"),
        ("rules: {a: 1}", "1:8: rules must be a list of rules"),
        ("user:\npreferences: {pages: 1}", "user must be a word"),
        ("pages: 3", '1:1: "pages" does not belong here (it goes under preferences:)'),
        ("preferences: {pages: 1, pages: 2}", "duplicate key"),
        ("preferences: {pages: *x}", "repeats an anchor that is not there"),
        ("preferences: !!python/object:os.system {a: 1}", "the tag"),
        ('{"preferences": {"pages": 1}', "lacks its }"),
        ("preferences: {pages: [[[1]]]}", "pages: [[[1]]] is no whole number"),
        ("preferences: {verbosity: }", "null is no word"),
    ],
)
def test_what_is_no_sheet_is_told_where(
    declared: Preferences, home: Path, text: str, fault: str
) -> None:
    with pytest.raises(InvalidMemoryError) as caught:
        declared.onboard(sheet(home, text))

    assert fault in str(caught.value)


def test_a_text_may_look_like_a_number(declared: Preferences, home: Path) -> None:
    (home / "retention_rules.yaml").write_text("preferences: {code: {}, words: {type: list}}")
    found = again(home)
    found.onboard(sheet(home, "preferences: {code: 12.50, words: [1, true, x]}"))

    assert (found.get("code"), found.get("words")) == ("12.50", ["1", "true", "x"])


def test_there_has_to_be_a_file(declared: Preferences, home: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        declared.onboard(home / "nothing.yaml")
    with pytest.raises(InvalidMemoryError, match="cannot be read"):
        declared.onboard(home)


def test_from_the_command_line(shell: Shell, tmp_path: Path) -> None:
    (shell.home / "retention_rules.yaml").write_text(DECLARED)
    path = sheet(tmp_path, SHEET)
    tried: Any = shell("pref", "onboard", str(path), "--dry-run", "--json").json
    assert (tried["written"], tried["dry_run"]) == (5, True)
    assert shell("pref", "get", "verbosity", "--user", "ann").code == 24
    done: Any = shell("pref", "onboard", str(path), "--json").json

    assert [one["preference"]["how"] for one in done["preferences"]] == ["onboarding"] * 5
    assert shell("pref", "get", "verbosity", "--user", "ann").out == "terse\n"
    assert "(as it was)" in shell("pref", "onboard", str(path)).out
    faulty = shell("pref", "onboard", str(sheet(tmp_path, FAULTY)))
    assert faulty.code == 2
    assert len(faulty.err.splitlines()) == len(FAULTS)
