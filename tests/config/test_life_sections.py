"""The sections about a memory's life: read whole, each fault with its line and its remedy."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.effective import effective_rules
from skymem.config.key import DUPLICATES, SUMMARIZER
from skymem.config.life_sections import section_values
from skymem.config.rules_file import examine_rules, read_rules
from skymem.errors import ConfigurationError
from skymem.model.rules import (
    BudgetRules,
    CompressRules,
    ConversationRules,
    MergeRules,
    PruneRules,
    RetentionRules,
    SummarizerRules,
    TrashRules,
)

WHOLE = """
compress:
  older_than: 2d
  likeness: 0.9
  summarizer:
    endpoint: "http://127.0.0.1:11434/v1/"
    model: llama3.2
    key_env: MY_KEY
    deadline: 20s
merge: {after: 3d, batch: 4}
prune:
  older_than: 365d
  importance_below: 0.3
  archive_older_than: 180d
  archive_max: 2GiB
trash: {keep: 7d}
restore_grace: 10d
budget: {per_run: 5%, per_30_days: 12.5%, at_least: 3}
recall_log: false
kinds:
  recipe: {importance: 0.6, merge: true, ttl: 12h}
  crumb: {compress: false}
  no: {promote: false}
conversation: {after_turns: 4, after_chars: 500, summary_chars: 900}
"""


def read(tmp_path: Path, text: str) -> RetentionRules:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(text)
    return read_rules(path)


def test_every_value_arrives(tmp_path: Path) -> None:
    rules = read(tmp_path, WHOLE)
    summarizer = rules.compress.summarizer

    assert (rules.compress.older_than_seconds, rules.compress.likeness) == (172_800, 0.9)
    assert summarizer is not None
    assert summarizer.endpoint == "http://127.0.0.1:11434/v1"
    assert (summarizer.model, summarizer.key_env) == ("llama3.2", "MY_KEY")
    assert (summarizer.deadline_seconds, summarizer.tokens_max) == (20, 2000)
    assert (rules.merge.after_seconds, rules.merge.batch) == (3 * 86_400, 4)
    assert rules.conversation == ConversationRules(4, 500, 900)
    assert (rules.prune.older_than_seconds, rules.prune.importance_below) == (365 * 86_400, 0.3)
    assert rules.prune.archive_bytes_max == 2 * 1024**3
    assert (rules.trash.keep_seconds, rules.restore_grace_seconds) == (7 * 86_400, 10 * 86_400)
    assert (rules.budget.per_run, rules.budget.per_30_days, rules.budget.at_least) == (
        0.05, 0.125, 3,
    )  # fmt: skip
    assert not rules.recall_log
    recipe = rules.kinds.of("recipe")
    assert (recipe.importance, recipe.merge, recipe.compress, recipe.ttl_days) == (
        0.6, True, False, 0.5,
    )  # fmt: skip
    assert not rules.kinds.of("crumb").compress
    assert rules.kinds.of("crumb").importance == 0.1
    assert not rules.kinds.of("no").promote


def test_config_show_tells_each_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(WHOLE)
    shown: Any = effective_rules(path)

    assert shown["budget"]["per_30_days"] == {
        "value": "12.5%", "source": "retention_rules.yaml:18",
    }  # fmt: skip
    assert shown["compress"]["summarizer"]["model"] == {
        "value": "llama3.2", "source": "retention_rules.yaml:7",
    }  # fmt: skip
    assert shown["prune"]["archive_max"]["value"] == "2GiB"
    assert shown["kinds"]["crumb"]["compress"]["source"] == "retention_rules.yaml:22"
    assert shown["kinds"]["fact"]["importance"] == {"value": 0.5, "source": "default"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("prune: {older_than: 365d}", "1:9: older_than alone prunes nothing: it needs importance"),
        ("prune: {importance_below: 0.3}", "importance_below alone prunes nothing"),
        ("prune: {older_than: none, importance_below: 0.3}", "alone prunes nothing"),
        ("prune: {max_age: 1d}", 'unknown key "max_age" (did you mean "older_than"?)'),
        ("prune: {superseded_after: none}", "is not a number with a unit"),
        ("prune: {archive_max: 1}", 'has no unit (is it "1B", '),
        ("prune: {older_than: 1}", 'has no unit (is it "1s", '),
        ("prune:", "prune has no value"),
        ("budget: {per_run: 0.1}", 'per_run: "0.1" has no unit (try "10%")'),
        ("budget: {per_run: 10}", 'has no unit (try "10%")'),
        ("budget: {per_run: 1}", 'has no unit (try "1%")'),
        ("budget: {per_run: 200%}", "not in 0% to 100%"),
        ("budget: {per_run: ten%}", "is not a percentage"),
        ("merge: {batch: 1}", "batch: 1 is not in 2 to 50"),
        ("compress: {likeness: 0.1}", "likeness: 0.1 is not in 0.5 to 1"),
        ("compress: {summarizer: {model: m}}", "summarizer has no endpoint"),
        ('compress: {summarizer: {endpoint: "ftp://x", model: m}}', "is no http or https URL"),
        ('compress: {summarizer: {endpoint: "http://[", model: m}}', "is no http or https URL"),
        ('compress: {summarizer: {endpoint: "http://h:99999", model: m}}', "is no http or https"),
        ('compress: {summarizer: {endpoint: "http://a b/v1", model: m}}', "is no http or https"),
        (
            'compress: {summarizer: {endpoint: "http://h/v1/chat/completions", model: m}}',
            'endpoint: try "http://h/v1", without the end',
        ),
        ('compress: {summarizer: {endpoint: "http://h/v1", model: ""}}', "model is empty"),
        ('compress: {summarizer: {endpoint: "http://h/v1"}}', "summarizer has no model"),
        ("compress: {summarizer: true}", "summarizer must be a mapping"),
        (
            'compress: {summarizer: {endpoint: "http://h", model: m, api_key: K}}',
            'did you mean "key_env"?',
        ),
        ("importance: 0.9", "importance must be a mapping, not"),
        ("importance: {predict: on}", "is not one of off, missing, second_opinion"),
        ("batch: 3", "it goes under merge: in retention_rules.yaml"),
        ("trash: {keep: 0d}", "keep: 0d is not in 1s to"),
    ],
)
def test_each_fault_is_named_with_its_place_and_remedy(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text + "\n")
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("retention_rules.yaml:1:")


@pytest.mark.parametrize(
    "setting",
    [
        "key_env: sk-S3CRET",
        "key_env: gskS3CRET",
        'key_env: "S3CRET S3CRET"',
        'endpoint: "https://me:S3CRET@example.com/v1"',
        'endpoint: "https://example.com/v1?key=S3CRET"',
    ],
)
def test_a_key_that_was_put_into_the_file_is_refused_without_being_shown(
    tmp_path: Path, setting: str
) -> None:
    with pytest.raises(ConfigurationError, match=r"key_env") as caught:
        read(tmp_path, f"compress:\n  summarizer:\n    {setting}\n    model: m\n")
    assert "S3CRET" not in str(caught.value)


def test_every_fault_of_every_section_is_told_at_once(tmp_path: Path) -> None:
    text = (
        "compress:\n  older_than: 48\n  summarizer:\n    deadline: 1\n"
        "merge: []\nprune:\n  importance_below: 0.3\nbudget:\n  per_run: 1\n"
        "trash:\n  kep: 3d\nkinds:\n  fact:\n    promote: yes\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    lines = [int(line.split(":")[1]) for line in str(caught.value).splitlines()]
    assert lines == [2, 3, 3, 4, 5, 7, 9, 11, 14]


@pytest.mark.parametrize(
    "text",
    [
        "prune: {older_than: none, importance_below: none}",
        "prune: {archive_older_than: none, archive_max: none}",
        "compress: {summarizer: none}",
        "compress: {}\nmerge: {}\nprune: {}\ntrash: {}\nbudget: {}\nkinds: {}",
    ],
)
def test_what_is_written_as_none_is_as_if_left_out(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == RetentionRules()


AGES = st.integers(1, 10_000_000).map(float)
SHARES = st.integers(0, 10_000).map(lambda hundredths: hundredths / 10_000)
JUDGED = st.one_of(st.just((None, None)), st.tuples(AGES, SHARES))
PRUNES = st.builds(
    lambda judged, *rest: PruneRules(judged[0], judged[1], *rest),
    JUDGED, AGES, st.none() | AGES, st.none() | st.integers(1024, 900 * 2**40),
)  # fmt: skip
SUMMARIZERS = st.builds(
    SummarizerRules,
    st.sampled_from(["http://127.0.0.1:8080/v1", "https://[::1]/v1", "https://example.org"]),
    st.sampled_from(["llama3.2", "true", "3", "none", "a: b"]),
    st.sampled_from([None, "OPENAI_API_KEY", "_K1"]),
    st.integers(1, 3600).map(float),
    st.integers(1, 10**7),
)
COMPRESSES = st.builds(
    CompressRules, AGES, SHARES.filter(lambda share: share >= 0.5), st.integers(1, 100_000),
    st.none() | SUMMARIZERS,
)  # fmt: skip
RULES = st.builds(
    RetentionRules()._replace,
    compress=COMPRESSES,
    merge=st.builds(MergeRules()._replace, after_seconds=AGES, batch=st.integers(2, 50)),
    prune=PRUNES,
    trash=st.builds(TrashRules, AGES),
    budget=st.builds(BudgetRules, SHARES, SHARES, st.integers(0, 10**6)),
)


@given(RULES)
def test_what_config_show_says_can_be_written_and_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, rules: RetentionRules
) -> None:
    path = tmp_path_factory.getbasetemp() / "shown_rules.yaml"
    path.write_text(as_yaml(section_values(rules)))
    reading = examine_rules(path)
    assert [str(problem) for problem in reading.complaints.found] == []
    assert reading.rules == rules


def as_yaml(sections: dict[str, Any]) -> str:
    """The sections as a file, the summariser inside of compress, duplicates inside of merge."""
    summarizer = sections.pop(SUMMARIZER, None)
    if summarizer is not None:
        sections["compress"]["summarizer"] = summarizer
    sections["merge"]["duplicates"] = sections.pop(DUPLICATES)
    return json.dumps(sections)
