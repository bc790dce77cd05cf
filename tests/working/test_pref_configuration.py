"""`preferences:` declares which there are and what each may be; what makes no sense is told."""

from pathlib import Path
from typing import Any

import pytest

from skymem.config.effective import effective_rules
from skymem.config.rules_file import examine_rules, read_rules
from skymem.model.preference import Declared

WHOLE = """\
preferences:
  analysis_depth:
    type: word
    choices: [brief, normal, deep]
    default: normal
    related: [verbosity, limit]
    meaning: How deep an analysis
      goes
  verbosity: {type: word, choices: [terse, full]}
  limit: {type: whole, least: 1, most: 50, default: 10}
  share: {type: number, least: 0, most: 1}
  charts: {type: bool, default: false}
  regions: {type: list, choices: [eu, us, apac], default: [eu]}
  fiscal_year: {choices: [2025, "2026"]}
  "no": {}
playbooks: {likeness: 0.7, words: 0.4, waits: 2h}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "retention_rules.yaml"


def test_what_is_declared_is_read(path: Path) -> None:
    path.write_text(WHOLE)
    rules = read_rules(path)

    assert dict(rules.preferences) == {
        "analysis_depth": Declared(
            "analysis_depth",
            "word",
            ("brief", "normal", "deep"),
            "normal",
            ("verbosity", "limit"),
            "How deep an analysis goes",
        ),
        "verbosity": Declared("verbosity", "word", ("terse", "full")),
        "limit": Declared("limit", "whole", default=10, least=1, most=50),
        "share": Declared("share", "number", least=0, most=1),
        "charts": Declared("charts", "bool", default=False),
        "regions": Declared("regions", "list", ("eu", "us", "apac"), ["eu"]),
        "fiscal_year": Declared("fiscal_year", "text", ("2025", "2026")),
        "no": Declared("no"),
    }
    books = rules.playbooks
    assert (books.likeness, books.words, books.waits_seconds) == (0.7, 0.4, 7200.0)


def test_each_is_shown_with_where_it_stands(path: Path) -> None:
    path.write_text(WHOLE)
    shown: Any = effective_rules(path)

    assert shown["preferences"]["analysis_depth"]["choices"] == {
        "value": "brief, normal, deep",
        "source": "retention_rules.yaml:4",
    }
    assert shown["preferences"]["charts"]["default"] == {
        "value": False,
        "source": "retention_rules.yaml:12",
    }
    assert shown["preferences"]["no"]["type"] == {"value": "text", "source": "default"}
    assert shown["playbooks"]["waits"]["value"] == "2h"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("a: word", '2:3: preference "a" says nothing', id="no mapping"),
        pytest.param('" a": {}', '2:3: preference " a" is no name', id="a space at its end"),
        pytest.param("a: {typ: word}", 'unknown key "typ" (did you mean "type"?)', id="key"),
        pytest.param("a: {type: words}", "is not one of word, text, number", id="type"),
        pytest.param("a: {type: word, default: two words}", "2:28: default:", id="default's type"),
        pytest.param(
            "a: {choices: [terse, full], default: ters}",
            'default: "ters" is not one of terse, full (did you mean "terse"?)',
            id="default's choice",
        ),
        pytest.param("a: {type: whole, default: 1.5}", "1.5 is no whole number", id="half"),
        pytest.param("a: {type: bool, default: yes}", "neither true nor false", id="yes"),
        pytest.param("a: {type: bool, choices: [true]}", "remove the line", id="bool's choices"),
        pytest.param("a: {type: whole, choices: [1, two]}", 'choices: "two" is no', id="choice"),
        pytest.param("a: {choices: []}", "choices is empty", id="no choices"),
        pytest.param("a: {choices: terse}", "choices must be a list", id="one choice"),
        pytest.param("a: {default: }", "default has no value", id="no default"),
        pytest.param("a: {default: {b: 1}}", "null is no text", id="a mapping by default"),
        pytest.param("a: {least: 3}", "least: only a number has one", id="a text's least"),
        pytest.param("a: {type: number, least: 3, most: 2}", "least: 3 is more", id="turned"),
        pytest.param("a: {type: number, most: 2, default: 3}", "3 is more than 2", id="beyond"),
        pytest.param(
            "depth: {}\n  a: {related: [dept]}",
            '3:17: related: no preference "dept" (did you mean "depth"?)',
            id="related to nothing",
        ),
        pytest.param("a: {related: [[b]]}", "related: names of preferences", id="related lists"),
    ],
)
def test_what_makes_no_sense_is_told_where_it_stands(path: Path, text: str, complaint: str) -> None:
    path.write_text(f"preferences:\n  {text}\n")

    assert complaint in "\n".join(map(str, examine_rules(path).complaints.sorted()))


@pytest.mark.parametrize(
    ("declared", "typed", "value"),
    [
        (Declared("a", "word"), "terse", "terse"),
        (Declared("a", "text"), "12", "12"),
        (Declared("a", "whole"), "12", 12),
        (Declared("a", "number"), "1.50", 1.5),
        (Declared("a", "bool"), "true", True),
        (Declared("a", "list"), "eu, us,", ["eu", "us"]),
        (Declared("a", "list"), '["a, b"]', ["a, b"]),
    ],
)
def test_a_typed_value_is_read_by_its_type(declared: Declared, typed: str, value: Any) -> None:
    assert declared.read(typed) == value
    assert declared.fault(declared.read(typed)) == ""


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Declared("a", "word"), ""),
        (Declared("a", "word"), "two words"),
        (Declared("a", "word"), "w" * 65),
        (Declared("a", "text"), " "),
        (Declared("a", "text"), "x" * 2001),
        (Declared("a", "text"), 3),
        (Declared("a", "number"), True),
        (Declared("a", "number"), float("inf")),
        (Declared("a", "whole"), 2.0),
        (Declared("a", "whole", choices=(1, 2)), True),
        (Declared("a", "bool"), 1),
        (Declared("a", "list"), "eu"),
        (Declared("a", "list"), ["eu", 1]),
        (Declared("a", "list", choices=("eu",)), ["eu", "us"]),
        (Declared("a", "list"), ["x"] * 65),
        (Declared("a", "text"), object()),
        (Declared("a", "text"), None),
    ],
)
def test_a_value_of_another_form_is_refused(declared: Declared, value: Any) -> None:
    assert declared.fault(value)
