"""For thirty questions written against the test documents, the right chunk is in the ten (W8)."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import skymem
from skymem.app import init_home
from skymem.stores.home import HomePaths
from skymem.working.documents import Documents, Passages
from tests.acceptance.homes import Outside

DOCUMENTS: Final = Path(__file__).parent / "documents"

QUESTIONS: Final = (
    ("where do I get my badge on the first day?", "onboarding.md", "north gate"),
    ("which tool do we keep shared passwords in?", "onboarding.md", "Vaultwarden"),
    ("how long is the trial period of new employees?", "onboarding.md", "four months"),
    ("when is the safety course about lasers?", "onboarding.md", "laser class"),
    ("how much may I spend on food per day in Norway?", "expenses.md", "52 euros"),
    ("until when must receipts be handed in?", "expenses.md", "form R-12"),
    ("may I take a plane for a short trip?", "expenses.md", "Helga Brandt"),
    ("my notebook computer was stolen, whom do I call?", "security.html", "Ingrid"),
    ("am I allowed to take pictures in the plant?", "security.html", "Photographs"),
    ("what do guests have to wear?", "security.html", "yellow badge"),
    ("how fast do we respond when a lighthouse is dark?", "support.html", "30 minutes"),
    ("how many years is the guarantee on a lens?", "support.html", "ten years"),
    ("who maintains the fork lift truck?", "warehouse.txt", "Stahl & Sohn"),
    ("wann kommen die Prismen an?", "mueller.txt", "drei Wochen"),
    ("what can vegans eat at lunch?", "wide.txt", "lentil curry"),
    ("what does one blank of glass cost?", "supply.pdf", "114 euros"),
    ("penalty for late delivery of the glass", "supply.pdf", "one percent of the order"),
    ("how much is the monthly rent of the hall?", "lease.pdf", "7,400 euros"),
    ("who is our landlord?", "lease.pdf", "Hafen Immobilien"),
    ("in which country did we sell most last quarter?", "q3.docx", "Chile"),
    ("is there still a vacancy in Bergen?", "q3.docx", "plant manager"),
    ("who leads the move of production to Poland?", "roadmap.docx", "Agnieszka"),
    ("budget of the solar powered buoy", "roadmap.docx", "85,000"),
    ("for how long does the port of Ålesund extend its contract?", "renewal.eml", "two years"),
    ("which seat was booked on the train to Malmö?", "html_only.eml", "seat 61"),
    ("what was the cause of the flickering lamp?", "archive.mbox", "C14"),
    ("how heavy may the loads for the helicopter be?", "kickoff.vtt", "900 kilograms"),
    ("how many lenses go to the laboratory?", "supplier.srt", "forty sample"),
    ("why did the emergency power fail in the outage?", "incident.json", "backup battery"),
    ("what colour are the buoys painted in?", "2025-02-10.json", "RAL 2005"),
)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Documents]:
    """The test documents, all of them indexed."""
    place = tmp_path_factory.mktemp("retrieval")
    home = Outside(HomePaths(place / "home"))
    init_home(home.paths.root)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SKYMEM_ENGINE", raising=False)
        memory = skymem.open_memory("sky", home=str(home.paths.root))
        memory.documents.add(DOCUMENTS)
        told = home("--agent", memory.documents.owner, "index", seconds=300)
        assert told.code == 0, told
        yield memory.documents
        home.close()


def asked(documents: Documents, question: str, limit: int = 10) -> Passages:
    """The answer by words and meaning; an engine that a busy machine makes late is asked again."""
    until = time.monotonic() + 60
    while (found := documents.search(question, limit=limit)).degraded:
        assert time.monotonic() < until, found.degraded
    assert found.mode == "fusion"
    return found


def test_the_right_chunk_is_in_the_ten_and_mostly_the_first(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")
    places = {}
    for question, file, says in QUESTIONS:
        found = asked(documents, question)
        places[question] = [
            at for at, one in enumerate(found) if one.file.endswith(file) and says in one.content
        ]

    assert len(places) == 30
    assert [question for question, at in places.items() if not at] == []
    assert sum(at[0] == 0 for at in places.values()) >= 24


def test_ten_are_given_and_as_many_as_are_wanted(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")

    assert len(asked(documents, "light")) == 10
    assert len(asked(documents, "light", limit=3)) == 3
    assert len({one.id for one in asked(documents, "light", limit=25)}) == 25
