"""Recall as somebody meets it: long texts, all tiers, other languages, an engine that is away."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import skymem
from skymem.stores.home import HomePaths
from tests.acceptance.homes import START, Outside, Told, line, told_by, whole

REPORT = "The user wants the weekly report at 7am"
QUESTION = "when should the summary be delivered?"
"""Shares no word with the report's line."""

FACT = "In the end the balloon burst at thirty-one kilometres above Lapland."
ASKS_FOR_THE_FACT = "how high up was the aerostat when it exploded?"

OTHERS = (
    "The cat sleeps on the warm radiator",
    "Her daughter is allergic to peanuts",
    "Milk, bread and eggs are to be bought",
    "The car's brakes were replaced in March",
    "Der Zahnarzttermin ist am Donnerstag um neun Uhr",
    "会议改到星期四下午三点",
)

IN_PYTHON = """
import json, sys
import skymem
from skymem import recall_similar
memory = skymem.open_memory(agent="sky")
found = memory.recall(sys.argv[1], limit=3)
texts = recall_similar(sys.argv[1], top_k=3)
heavy = [name for name in ("chromadb", "onnxruntime", "torch") if name in sys.modules]
print(json.dumps([[one.content for one in found], texts, found.degraded, heavy]))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """An empty home that may use its engine."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    yield made
    made.close()


def test_doctor_waits_for_the_model_of_an_engine_it_starts(home: Outside) -> None:
    home.paths.agent("sky").directory.rmdir()
    for agents in range(2):
        home.end_engine()
        told = home("doctor")
        assert told.code == 0, told
        assert "all-MiniLM-L6-v2, 384 dimensions" in told.out
        assert told.out.count("all as they should be") == agents
        home.done("remember", "x")


@pytest.fixture
def told(home: Outside) -> Outside:
    """A home that was told a few things and promoted them; its engine runs."""
    home.echo(line(REPORT), *(line(one) for one in OTHERS))
    promoted = home.done("promote")
    assert (promoted["promoted"], promoted["degraded"]) == (1 + len(OTHERS), [])
    return home


def found_by_meaning(answer: Told) -> None:
    assert answer.code == 0, answer
    assert answer.firsts() == [REPORT]
    assert answer.json["results"][0]["parts"]["semantic"] > 0.25
    assert answer.json["degraded"] == []


# -- what is found --------------------------------------------------------------------------------


def long_text() -> str:
    """Three thousand words about a walk, and something else in the end."""
    walks = [
        f"On day {day} the group walked {day % 17 + 4} miles through forest number {day} and "
        f"rested beside a stream where somebody cooked soup for {day % 5 + 2} people."
        for day in range(1, 126)
    ]
    return " ".join([*walks, FACT])


def test_a_fact_in_the_last_sentence_of_a_long_text_is_found_by_a_paraphrase(
    told: Outside,
) -> None:
    text = long_text()
    assert 2_900 < len(text.split()) < 3_400
    told.echo(line(text))
    told.done("promote")
    answer = told("recall", ASKS_FOR_THE_FACT, "--mode", "semantic", "--json")

    assert answer.firsts() == [text]
    first, second = answer.json["results"][:2]
    assert first["parts"]["semantic"] > second["parts"]["semantic"] + 0.1
    assert answer.json["degraded"] == []


def test_every_tier_and_the_tail_of_a_drain_are_in_one_result(home: Outside) -> None:
    rules = home.paths.rules.read_text()
    home.paths.rules.write_text(
        rules.replace("short_term_max_lines: 5000", "short_term_max_lines: 1")
    )
    home.echo(line("a boat on the lake", 0.9), line("a ship in the harbour", 0.1, ts=START - 9))
    home.echo(line("a canoe on the river", 0.1))
    with home.short_term.open("ab", buffering=0) as writer:
        home.done("trigger", "memory_rotate_check")
        writer.write(line("a ferry across the strait", 0.1))
        home.done("index")
        answer = home("recall", "vessels that float on water", "--mode", "semantic", "--json")
    tiers = {one["content"]: one["tier"] for one in answer.json["results"]}

    assert tiers == {
        "a boat on the lake": "long",
        "a ship in the harbour": "archive",
        "a canoe on the river": "short",
        "a ferry across the strait": "short",
    }
    assert all(one["parts"]["semantic"] > 0.2 for one in answer.json["results"])


@pytest.mark.parametrize(
    ("question", "text"),
    [("wann ist der zahnarzttermin", OTHERS[4]), ("会议星期四", OTHERS[5])],
    ids=["German", "Chinese"],
)
def test_other_languages_are_found_by_their_words(told: Outside, question: str, text: str) -> None:
    for mode in ("auto", "deterministic"):
        answer = told("recall", question, "--mode", mode, "--json")
        assert answer.firsts() == [text]
        assert answer.json["results"][0]["parts"]["text"] > 0


def test_python_finds_the_same_and_loads_nothing_heavy(
    told: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_HOME", str(told.paths.root))
    command = [sys.executable, "-c", IN_PYTHON, QUESTION]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found, texts, degraded, heavy = json.loads(answer.stdout)

    assert found == told("recall", QUESTION, "--limit", "3", "--json").firsts(3)
    semantic = told("recall", QUESTION, "--limit", "3", "--mode", "semantic", "--json")
    assert texts == semantic.firsts(3)
    assert found[0] == texts[0] == REPORT
    assert (degraded, heavy) == ([], [])


# -- the best order -------------------------------------------------------------------------------

TALK = (
    ("market", "Anna: What did you buy at the market on Saturday?"),
    ("market", "Ben: Three kilos of chanterelles, and dill."),
    ("market", "Anna: They will be good with potatoes."),
    ("garage", "Anna: The garage has called."),
    ("garage", "Ben: They have put in new brakes."),
)
ASKS_FOR_THE_REPLY = "what did Ben buy at the market?"


def test_a_reply_is_found_by_the_question_before_it(home: Outside) -> None:
    home.echo(
        *(
            line(text, 0.9, ts=START + place, session=session)
            for place, (session, text) in enumerate(TALK)
        )
    )
    home.done("promote")
    told = {
        mode: home("recall", ASKS_FOR_THE_REPLY, "--mode", mode, "--json").json
        for mode in ("semantic", "auto")
    }
    reply = TALK[1][1]
    places = {
        mode: [one["content"] for one in answer["results"]].index(reply)
        for mode, answer in told.items()
    }
    parts = told["auto"]["results"][places["auto"]]["parts"]

    assert told["auto"]["mode"] == "fusion"
    assert places["auto"] <= 1
    assert places["auto"] < places["semantic"] or places["semantic"] == 1
    assert parts["around"] > parts["words"] > 0


def test_what_was_just_appended_is_found_before_any_job(told: Outside) -> None:
    memory = skymem.open_memory("sky", home=str(told.paths.root))
    memory.recall(QUESTION)
    took = []
    for number in range(5):
        told.echo(line(f"the new door code is {4711 + number}", 0.3))
        start = time.monotonic()
        found = memory.recall(f"door code {4711 + number}")
        took.append(time.monotonic() - start)
        assert found[0].content == f"the new door code is {4711 + number}"
        assert (found[0].tier, found.mode) == ("short", "fusion")
    assert min(took) < 1.0


# -- when the engine goes -------------------------------------------------------------------------


def test_an_engine_killed_between_two_recalls_is_not_missed(told: Outside) -> None:
    killed = [told.end_engine(signal.SIGKILL)]
    found_by_meaning(told("recall", QUESTION, "--json"))
    killed.append(told.end_engine(signal.SIGKILL))
    found_by_meaning(told("recall", QUESTION, "--mode", "semantic", "--json"))

    assert len({0, *killed, told.engine_pid()}) == 4


def test_an_engine_killed_during_recalls_is_not_missed(told: Outside) -> None:
    over = threading.Event()
    killed: list[int] = []
    calls = [0]

    def kill_now_and_then() -> None:
        last = 0
        while not over.wait(0.7):
            pid, call = told.engine_pid(), calls[0]
            # Twice within one call is more than a retry is for.
            if pid and call > last and told.paths.engine_socket.exists():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                last = call + 1  # it may have come to the next by now

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        deadline = time.monotonic() + 120
        while len(set(killed)) < 3:
            assert time.monotonic() < deadline
            calls[0] += 1
            found_by_meaning(told("recall", QUESTION, "--json"))
    finally:
        over.set()
        killer.join()
    assert len(set(killed)) >= 3


def test_ten_recalls_at_once_from_cold_share_one_engine(told: Outside) -> None:
    told.end_engine()
    asking = [told.start("recall", QUESTION, "--json") for _ in range(10)]
    seen = set()
    while any(one.poll() is None for one in asking):
        seen.add(told.engine_pid())
        time.sleep(0.01)

    for one in asking:
        found_by_meaning(told_by(one))
    assert len(seen - {0}) == 1


# -- when there is none ---------------------------------------------------------------------------


def test_with_the_engine_off_words_answer_and_meaning_alone_is_refused(
    told: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    told.end_engine()
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    by_words = told("recall", "weekly report", "--json")

    assert (by_words.code, by_words.firsts()) == (0, [REPORT])
    assert by_words.json["mode"] == "deterministic"
    assert "SKYMEM_ENGINE" in by_words.json["degraded"][0]
    assert "SKYMEM_ENGINE" in by_words.err
    refused = told("recall", QUESTION, "--mode", "semantic")
    assert (refused.code, refused.out) == (40, "")
    assert "SKYMEM_ENGINE" in refused.err
    assert told.engine_pid() == 0


def test_a_missing_model_costs_meaning_alone_and_comes_back_by_itself(home: Outside) -> None:
    good = home.paths.rules.read_text()
    home.paths.rules.write_text(f"{good}\nengine:\n  model: /nonexistent/model\n")
    home.echo(line(REPORT), *(line(one) for one in OTHERS))
    count = 1 + len(OTHERS)

    promoted = home.done("promote")
    assert (promoted["ok"], promoted["promoted"], promoted["rag_pending"]) == (True, count, count)
    assert "/nonexistent/model" in promoted["degraded"][0]
    by_words = home("recall", "weekly report", "--json")
    assert (by_words.code, by_words.firsts()) == (0, [REPORT])
    assert "/nonexistent/model" in by_words.json["degraded"][0]
    for words in (("recall", QUESTION, "--mode", "semantic"), ("index",)):
        refused = home(*words)
        assert refused.code == 40, refused
        assert "/nonexistent/model" in refused.err
        assert "Traceback" not in refused.err
    problems = home("doctor", "--json")
    assert problems.code == 20
    assert "/nonexistent/model" in json.dumps(problems.json["problems"])
    status = home.done("status")
    assert status["engine"]["rag_pending"] == count

    home.paths.rules.write_text(good)
    done = home.done("trigger", "index")
    assert (done["embedded"], done["rag_pending"]) == (count, 0)
    found_by_meaning(home("recall", QUESTION, "--json"))
    assert whole(home.done("index", "--stats")) == []
    assert home("doctor").code == 0
    assert home.done("status")["health"] == "healthy"
