"""Whatever memories, tags, kinds and agents are called: on the page it is text (hazard H4)."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from skymem.reporting.figures import Report
from skymem.reporting.page import page
from tests.conftest import line
from tests.reporting.conftest import Weeks, weeks_in
from tests.reporting.hostile import EVIL, haunted_report

HIDDEN = "\u202e\u2066\u200b\x1b\x00\ufeff"

OURS = """
html head meta title style body svg defs pattern rect path main header h1 h2 h3 p div span b small
section figure figcaption strong g line text polygon polyline circle ul li details summary table
thead tbody tr th td code footer
"""


class Reader(HTMLParser):
    """Reads a page as a browser does: which elements, which attributes, which text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(data: bytes) -> Reader:
    reader = Reader()
    reader.feed(data.decode())
    return reader


@pytest.fixture(scope="module")
def haunted(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return haunted_report(tmp_path_factory.mktemp("haunted") / "home")


def test_hostile_text_is_text(haunted: Report) -> None:
    data = page(haunted)
    reader = read(data)
    assert reader.tags <= {*OURS.split()}
    assert not {name for name in reader.attributes if name.startswith("on")}
    assert not {"src", "href", "style", "srcdoc", "action"} & reader.attributes
    for evil in EVIL[:8]:
        assert evil in reader.text
    assert b"<script" not in data
    assert b"<img" not in data


def test_what_is_not_to_be_seen_is_spelled_out(haunted: Report) -> None:
    text = page(haunted).decode()
    assert not set(HIDDEN) & set(text)
    assert r"\u202egnol\u2066\u200b\x1b".replace(r"\x1b", r"\u001b") in text


def test_the_policy_forbids_everything_but_its_own_style(lived: Weeks) -> None:
    reader = read(page(lived.report()))
    (policy,) = [one for one in reader.values if one.startswith("default-src")]
    rules = dict(one.strip().split(" ", 1) for one in policy.split(";"))
    assert rules.pop("style-src").startswith("'sha256-")
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert not [one for one in reader.values if "://" in one or one.startswith("//")]


def test_a_secret_that_was_appended_is_not_on_the_page(tmp_path: Path) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.at(0)
    key = "AKIA" + "Q3EGRIZ7TQ2LMNB4"
    desk.echo(line(f"the key is {key}", 0.9, desk.clock, tags=[key]))
    assert key.encode() not in page(desk.report())
    desk.job()
    found = desk.report()
    assert "the key is" in found.most[0].text
    assert key.encode() not in page(found)


def test_without_texts_no_memory_is_quoted(lived: Weeks) -> None:
    assert b"is said" in page(lived.report())
    assert b"is said" not in page(lived.report(texts=False))


def test_the_same_facts_make_the_same_page(lived: Weeks) -> None:
    found = lived.report()
    assert page(found) == page(found)


def test_an_empty_home_has_a_page(tmp_path: Path) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.at(0)
    assert "No rule decided anything." in read(page(desk.report())).text
    nobody = replace(desk.report(), agents=())
    assert "no agent" in read(page(nobody)).text
