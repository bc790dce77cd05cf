"""What is handed to be embedded, and what is recalled, has no secret, in any tier (row X11)."""

import re
from collections.abc import Sequence

from skymem.engine.items import Item
from skymem.recall.listing import recent, search_archives
from skymem.recall.request import Filters, ask
from skymem.recall.search import recall
from tests.conftest import line
from tests.jobs.indexing import Indexer, indexer

__all__ = ["indexer"]

TOKEN = "gl" + "pat-" + "Zx8Qw2Er5Ty7Ui9Op1As"
SAID = f"the pipeline pushes with {TOKEN} to the mirror"
SAFE = "the pipeline pushes with [redacted:gitlab-token] to the mirror"


def test_no_secret_is_embedded_of_short_term_nor_of_what_was_there_before(
    indexer: Indexer,
) -> None:
    handed: list[str] = []

    def note(items: Sequence[Item]) -> None:
        handed.extend(one.text for one in items)

    indexer.engine.before_put = note
    indexer.remember("short", line(SAID))
    indexer.remember("long", line(SAID, ts=1, id="old"))
    indexer.run()
    assert handed
    assert set(handed) == {SAFE}


def test_no_secret_is_recalled_or_listed(indexer: Indexer) -> None:
    indexer.remember("short", line(SAID))
    indexer.remember("long", line(SAID, ts=1, id="old"))
    indexer.remember("short_term_archive_20231101T000000Z.jsonl", line(SAID, ts=2, id="older"))
    work = indexer.desk.work()

    def no_engine() -> object:
        raise AssertionError

    found = recall(work, "sky", ask("pipeline mirror", 10, "deterministic", 0.3), no_engine)  # type: ignore[arg-type]
    assert [one.content for one in found] == [SAFE] * 3
    assert {one["content"] for one in recent(work, "sky", Filters(), 10)} == {SAFE}
    listed = search_archives(work, ["sky"], re.compile("mirror"), Filters(), 10)
    assert [one["content"] for one in listed] == [SAFE]
