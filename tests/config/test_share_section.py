"""`share:` says who may read what of whom, and what makes no sense is refused (row P17)."""

from pathlib import Path

import pytest

from skymem.config.effective import effective_rules
from skymem.config.rules_file import read_rules
from skymem.errors import ConfigurationError
from skymem.model.rules import ShareRule


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with sky, hobbs and aegis."""
    for agent in ("sky", "hobbs", "aegis"):
        (tmp_path / "memory" / agent).mkdir(parents=True)
    return tmp_path


def read(home: Path, *rules: str, more: str = "") -> tuple[ShareRule, ...]:
    path = home / "retention_rules.yaml"
    path.write_text(more + "share:\n" + "".join(f"  - {rule}\n" for rule in rules))
    return read_rules(path).share


def test_a_rule_is_read_whole(home: Path) -> None:
    text = "{from: sky, to: [hobbs], tags: [ops], kinds: [decision], trust_min: 0.6}"

    assert read(home, text) == (ShareRule("sky", ("hobbs",), ("ops",), ("decision",), 0.6),)


def test_rules_may_go_both_ways(home: Path) -> None:
    both = ("{from: sky, to: [hobbs], tags: [a]}", "{from: hobbs, to: [sky, aegis], tags: [a]}")

    assert [rule.source for rule in read(home, *both)] == ["sky", "hobbs"]


def test_without_the_key_nothing_is_shared(home: Path) -> None:
    (home / "retention_rules.yaml").write_text("{}\n")

    assert read_rules(home / "retention_rules.yaml").share == ()


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        pytest.param("{from: sky, to: [sky], tags: [a]}", "share with itself", id="itself"),
        pytest.param(
            "{from: sky, to: [hobs], tags: [a]}", 'did you mean "hobbs"?', id="a slip in to"
        ),
        pytest.param(
            "{from: skyy, to: [hobbs], tags: [a]}", 'did you mean "sky"?', id="a slip in from"
        ),
        pytest.param("{from: sky, to: [zork], tags: [a]}", "there are: aegis", id="nobody"),
        pytest.param("{from: ../x, to: [sky], tags: [a]}", "is not allowed", id="a path"),
        pytest.param("{from: sky, to: [hobbs]}", "would share everything", id="everything"),
        pytest.param("{from: sky, tags: [a]}", "has no to", id="no receiver"),
        pytest.param("{to: [sky], tags: [a]}", "has no from", id="no source"),
        pytest.param("{from: sky, to: hobbs, tags: [a]}", "must be a list", id="no list"),
        pytest.param("{from: sky, to: [], tags: [a]}", "list of words", id="an empty list"),
        pytest.param("{from: sky, to: [hobbs], tags: [[a]]}", "list of words", id="a list in it"),
        pytest.param("{from: sky, to: [hobbs], tags: [a], trust_min: 2}", "0 to 1", id="trust"),
        pytest.param(
            "{from: sky, to: [hobbs], tags: [a], trust_min: 0.9, trust_max: 0.5}",
            "is above trust_max",
            id="trusted too little to be shared",
        ),
        pytest.param("{from: sky, to: [hobbs], tag: [a]}", 'did you mean "tags"?', id="a key"),
        pytest.param("sky", "a rule needs keys", id="no mapping"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(
    home: Path, rule: str, complaint: str
) -> None:
    with pytest.raises(ConfigurationError) as told:
        read(home, rule)

    assert complaint in str(told.value)
    assert "retention_rules.yaml:2:" in str(told.value)


def test_an_agent_that_is_to_come_is_named_under_agents(home: Path) -> None:
    more = "agents: {zork: {promote_threshold: 0.5}}\n"

    assert read(home, "{from: sky, to: [zork], tags: [a]}", more=more)[0].receivers == ("zork",)


def test_rules_that_are_tried_out_beside_no_home_may_name_anybody(tmp_path: Path) -> None:
    assert read(tmp_path, "{from: a, to: [b], tags: [c]}")[0].source == "a"


def test_the_rules_in_force_are_shown_with_their_lines(home: Path) -> None:
    read(home, "{from: sky, to: [hobbs, aegis], tags: [a]}")
    shown = effective_rules(home / "retention_rules.yaml")["share"]

    assert isinstance(shown, list)
    assert shown[0]["to"] == {"value": "hobbs, aegis", "source": "retention_rules.yaml:2"}
    assert shown[0]["trust_max"] == {"value": 1.0, "source": "default"}
