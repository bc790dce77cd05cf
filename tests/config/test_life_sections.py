"""The sections about a memory's life: read whole, each fault with its line and its remedy."""

from pathlib import Path
from typing import Any

import pytest

from skymem.config.effective import effective_rules
from skymem.config.rules_file import read_rules
from skymem.errors import ConfigurationError
from skymem.model.rules import RetentionRules

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
    assert shown["compress.summarizer"]["model"]["value"] == "llama3.2"
    assert shown["kinds"]["crumb"]["compress"]["source"] == "retention_rules.yaml:22"
    assert shown["kinds"]["fact"]["importance"] == {"value": 0.5, "source": "default"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("prune: {older_than: 365d}", "1:9: older_than alone prunes nothing: it needs importance"),
        ("prune: {importance_below: 0.3}", "importance_below alone prunes nothing"),
        ("prune: {max_age: 1d}", 'unknown key "max_age"'),
        ("prune: {older_than: 1}", 'has no unit (try "1s"'),
        ("prune:", "prune has no value"),
        ("budget: {per_run: 0.1}", 'per_run: "0.1" has no unit (try "10%")'),
        ("budget: {per_run: 10}", 'has no unit (try "10%")'),
        ("budget: {per_run: 200%}", "not in 0% to 100%"),
        ("budget: {per_run: ten%}", "is not a percentage"),
        ("merge: {batch: 1}", "batch: 1 is not in 2 to 50"),
        ("compress: {likeness: 0.1}", "likeness: 0.1 is not in 0.5 to 1"),
        ("compress: {summarizer: {model: m}}", "summarizer has no endpoint"),
        ('compress: {summarizer: {endpoint: "ftp://x", model: m}}', "is no http or https URL"),
        ("kinds: {fact: 3}", 'kind "fact" says nothing'),
        ("kinds: {fact: {importance: 2}}", "importance: 2 is not in 0 to 1"),
        ("kinds: {fact: {stability: firm}}", "is not one of volatile, stable, permanent"),
        ("importance: 0.9", "it goes under kinds: NAME: in retention_rules.yaml"),
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
