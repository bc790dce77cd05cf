"""`index --stats` holds the word index against the lines, and leaves it as it is."""

from typing import Any

from skymem.jobs import index_run
from tests.jobs.indexing import Indexer, indexer, texts

__all__ = ["indexer"]


def compared(indexer: Indexer) -> dict[str, Any]:
    detail, _ = index_run.examine(indexer.work(), ["sky"])
    found: dict[str, Any] = detail["agents"]["sky"]["words"]
    return found


def counts(told: dict[str, Any]) -> list[int]:
    return [told[key] for key in ("lines", "indexed", "missing", "stale")]


def test_what_it_has_and_lacks_is_told(indexer: Indexer) -> None:
    indexer.remember("long", *texts(5))
    indexer.remember("short_term_archive_20231114.jsonl", *texts(3, 5))
    indexer.run()
    assert counts(compared(indexer)) == [8, 8, 0, 0]
    indexer.remember("long", *texts(2, 8))
    behind = compared(indexer)

    assert counts(behind) == [10, 8, 2, 0]
    assert len(behind["missing_ids"]) == 2
    indexer.run()
    assert counts(compared(indexer)) == [10, 10, 0, 0]


def test_one_that_is_gone_lacks_everything_and_is_not_made(indexer: Indexer) -> None:
    indexer.remember("long", *texts(4))
    indexer.run()
    place = indexer.desk.paths.words_of("sky")
    place.unlink()

    assert counts(compared(indexer)) == [4, 0, 4, 0]
    assert not place.exists()
