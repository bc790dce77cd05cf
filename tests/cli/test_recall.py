"""The `recall` verb and its Python twin: what they print, what they end with, what they escape."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.app import Home, init_home
from skymem.errors import (
    EngineUnavailableError,
    InvalidMemoryError,
    NotAllowedError,
    UsageError,
)
from tests.cli.conftest import Shell
from tests.recall.conftest import Meanings

KEYS = {"id", "tier", "content", "score", "parts", "ts", "tags", "kind"}
EVIL = "\x1b]0;owned\x07\x1b[2Jfirst\r\nsecond\u202e\u2028\x9b31m\ud800"


@pytest.fixture
def remembered(shell: Shell) -> Shell:
    """A home with a preference and a log."""
    shell("remember", "User wants reports at 7am", "--tag", "daily", "--kind", "preference")
    shell("remember", "proxy restarted", "--kind", "log", "--meta", "host=eu-1")
    return shell


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Meanings:
    """An engine that knows what a test tells it."""
    made = Meanings()
    monkeypatch.setattr(Home, "engine", lambda _home: made)
    return made


def test_json_is_one_document_with_the_promised_keys(remembered: Shell) -> None:
    told = remembered("recall", "reports?", "--json")

    assert told.code == 0
    assert told.out.count("\n") == 1
    assert set(told.json) == {"results", "mode", "degraded"}
    assert [set(one) for one in told.json["results"]] == [KEYS, KEYS]
    assert told.json["results"][0]["content"] == "User wants reports at 7am"
    assert set(told.json["results"][0]["parts"]) == {
        "text", "recency", "importance", "deterministic", "semantic",
    }  # fmt: skip


def test_without_an_engine_it_says_so_once_and_is_done(remembered: Shell) -> None:
    told = remembered("recall", "reports", "--json")

    assert (told.code, told.json["mode"]) == (0, "deterministic")
    assert len(told.json["degraded"]) == 1
    assert told.err == f"skymem: {told.json['degraded'][0]}\n"


def test_words_alone_want_no_engine_and_say_nothing_of_it(remembered: Shell) -> None:
    told = remembered("recall", "reports", "--mode", "deterministic", "--json")

    assert (told.json["mode"], told.json["degraded"], told.err) == ("deterministic", [], "")


def test_with_an_engine_meaning_answers_too(remembered: Shell, engine: Meanings) -> None:
    log = remembered("recall", "proxy", "--limit", "1", "--json").json["results"][0]["id"]
    engine.cosines = {log: 1.0}
    told = remembered("recall", "network outage", "--json")

    assert (told.json["mode"], told.json["degraded"], told.err) == ("fusion", [], "")
    assert told.json["results"][0]["parts"]["semantic"] == 1.0


@pytest.mark.usefixtures("engine")
def test_where_no_memory_shares_a_word_or_is_embedded_yet_the_newest_answer(
    remembered: Shell,
) -> None:
    told = remembered("recall", "xylophone", "--limit", "1")

    assert (told.code, told.err) == (0, "")
    assert told.out.endswith("User wants reports at 7am\n")


@pytest.mark.usefixtures("engine")
def test_where_all_memories_are_over_it_says_so(shell: Shell) -> None:
    line = {"content": "proxy", "ts": 1_600_000_000, "expires_at": "2021-01-01T00:00:00Z"}
    place = shell.home / "memory" / "sky"
    place.mkdir(parents=True, exist_ok=True)
    (place / "short_term.jsonl").write_text(json.dumps(line) + "\n")
    told = shell("recall", "proxy")

    assert (told.code, told.out) == (0, "")
    assert told.err == (
        "skymem: nothing found: no memory of agent sky is active: all have expired or are "
        "superseded\n"
    )


def test_a_person_gets_a_line_for_each(remembered: Shell) -> None:
    told = remembered("recall", "reports", "--mode", "deterministic")
    first, second = (line.split("  ") for line in told.out.splitlines())

    assert first[1:2] + first[-1:] == ["short", "User wants reports at 7am"]
    assert len(first[-3]) == 12
    assert datetime.now(UTC).strftime("%Y-%m-%d") in first
    assert float(first[0]) > float(second[0])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--kind", "preference"], id="kind"),
        pytest.param(["--tag", "daily", "--tag", "weekly"], id="tag"),
        pytest.param(["--since", "1h", "--limit", "1"], id="since and limit"),
        pytest.param(["--tier", "short", "--tier", "long", "--kind", "preference"], id="tier"),
    ],
)
def test_options_choose_who_answers(remembered: Shell, words: list[str]) -> None:
    found = remembered("recall", "reports", *words, "--json").json["results"]

    assert [one["content"] for one in found] == ["User wants reports at 7am"]


def test_metadata_chooses_who_answers(remembered: Shell) -> None:
    found = remembered("recall", "reports", "--meta", "host=eu-1", "--json").json["results"]

    assert [one["content"] for one in found] == ["proxy restarted"]


USAGE = [
    pytest.param(["--limit", "0"], "limit 0", id="limit"),
    pytest.param(["--mode", "magic"], "mode 'magic'", id="mode"),
    pytest.param(["--tier", "middle"], "tier 'middle'", id="tier"),
    pytest.param(["--since", "soon"], "since 'soon'", id="since"),
    pytest.param(["--meta", "host"], "meta 'host'", id="meta"),
    pytest.param(["--meta", "=x"], "meta '=x'", id="meta without a key"),
    pytest.param(["--recency-bias", "2"], "recency-bias 2.0", id="bias"),
    pytest.param(["--semantic-weight", "nan"], "semantic-weight nan", id="weight"),
]


@pytest.mark.parametrize(("words", "named"), USAGE)
def test_a_value_that_can_not_be_is_named_with_the_remedy(
    remembered: Shell, words: list[str], named: str
) -> None:
    told = remembered("recall", "reports", *words)

    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"skymem: {named}")
    assert "; " in told.err


def test_meaning_alone_without_an_engine_ends_with_40(remembered: Shell) -> None:
    told = remembered("recall", "reports", "--mode", "semantic", "--json")

    assert (told.code, told.out) == (40, "")
    assert "the engine is not available" in told.err


def test_an_agent_that_is_not_there_is_named(remembered: Shell) -> None:
    told = remembered("--agent", "nobody", "recall", "reports")

    assert told.code == 2
    assert 'no agent "nobody" here' in told.err


def test_one_agent_does_not_see_another(remembered: Shell) -> None:
    remembered("--agent", "hobbs", "remember", "reports are his own")
    found = remembered("--agent", "hobbs", "recall", "reports", "--json").json["results"]

    assert [one["content"] for one in found] == ["reports are his own"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        pytest.param(["?!"], "the query holds no word", id="no word"),
        pytest.param(["x", "--kind", "none"], "no memory passes the filters", id="filters"),
    ],
)
def test_nothing_found_is_explained_to_a_person(
    remembered: Shell, words: list[str], hint: str
) -> None:
    told = remembered("recall", "--mode", "deterministic", *words)

    assert (told.code, told.out) == (0, "")
    assert hint in told.err


def test_an_empty_home_says_how_to_begin(shell: Shell, engine: Meanings) -> None:
    assert "skymem remember TEXT" in shell("recall", "x").err
    assert "skymem index" in shell("recall", "x", "--mode", "semantic").err
    assert engine.asked


def test_who_asks_as_the_wrong_agent_is_told_who_has_memories(
    shell: Shell, engine: Meanings
) -> None:
    shell("--agent", "hobbs", "remember", "reports at seven")
    (shell.home / "memory/aegis").mkdir()
    told = shell("recall", "reports")

    assert (told.code, told.out) == (0, "")
    assert "agent sky has no memory; there are some of hobbs (name one: skymem --agent" in told.err
    assert "aegis" not in told.err


def test_recall_changes_nothing(remembered: Shell) -> None:
    before = remembered.snapshot()
    remembered("recall", "reports")

    assert remembered.snapshot() == before


# -- text of memories -----------------------------------------------------------------------------


def test_memory_text_is_harmless_on_a_terminal_and_whole_in_json(shell: Shell) -> None:
    fields = {"content": EVIL, "tags": [EVIL], "kind": EVIL, "id": "\x1b[2J"}
    shell("remember", "--stdin", stdin=json.dumps(fields).encode())
    told = shell("recall", "first")
    document = shell("recall", "first", "--json")

    assert all(one.isprintable() or one == "\n" for one in told.out + told.err)
    assert told.out.count("\n") == 1
    assert document.out.isascii()
    assert document.json["results"][0]["content"] == EVIL


def test_a_structured_record_is_shown_by_what_it_holds(shell: Shell) -> None:
    record = {"record_type": "profile", "payload": {"likes": "tea"}}
    with shell.short_term.open("ab") as stream:
        stream.write(json.dumps(record).encode() + b"\n")

    assert 'profile {"likes": "tea"}' in shell("recall", "tea").out
    assert shell("recall", "tea", "--json").json["results"][0]["payload"] == {"likes": "tea"}


def test_bytes_that_are_no_text_are_refused(shell: Shell) -> None:
    told = shell.process("recall", b"\xff")  # type: ignore[arg-type]  # as a shell hands it over

    assert told.code == 2
    assert "not UTF-8" in told.err


@pytest.mark.parametrize("text", ["word " * 90, "漢字" * 90], ids=["narrow", "wide"])
def test_a_line_is_cut_to_the_terminal(shell: Shell, text: str) -> None:
    shell("remember", text)
    words = ["recall", "word 漢字", "--mode", "deterministic"]
    shown = shell.on_a_terminal(60, *words).rstrip("\n")

    assert shown.endswith("…")
    assert "\n" not in shown
    assert 58 <= sum(2 if one in "漢字" else 1 for one in shown) <= 60


def test_deterministic_recall_loads_nothing_heavy(remembered: Shell) -> None:
    code = (
        "import sys; from skymem.cli.entry import _run\n"
        "try: _run(sys.argv[1:])\n"
        "finally: print(sorted({'chromadb', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    )
    words = ["--home", str(remembered.home), "recall", "reports", "--mode", "deterministic"]
    done = subprocess.check_output([sys.executable, "-c", code, *words], text=True)

    assert done.splitlines()[-1] == "[]"


# -- Python ---------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> skymem.AgentMemory:
    """A handle on a new home, which is also the one that is found."""
    init_home(tmp_path / "home")
    monkeypatch.setenv("SKYMEM_HOME", str(tmp_path / "home"))
    made = skymem.open_memory()
    made.remember("User wants reports at 7am", tags=["preference"], importance=0.9)
    made.remember("proxy restarted", kind="log", metadata={"port": 8080})
    return made


def test_python_gets_a_list_that_knows_how_it_came_about(memory: skymem.AgentMemory) -> None:
    found = memory.recall("when does the user want reports?", limit=5)

    assert [one.content for one in found] == ["User wants reports at 7am", "proxy restarted"]
    assert (found[0].tier, found[0].tags, found[0].parts.importance) == (
        "short",
        ("preference",),
        0.9,
    )
    assert found.mode == "deterministic"
    assert "the engine is not available" in found.degraded[0]


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param({"kind": "log"}, id="kind"),
        pytest.param({"meta": {"port": 8080}}, id="meta"),
        pytest.param({"tags": "preference", "limit": 3}, id="one tag"),
        pytest.param({"tags": ["x", "preference"]}, id="tags"),
        pytest.param({"tier": "short", "kind": "log"}, id="tier"),
        pytest.param({"tier": ["short", "long"], "kind": "log"}, id="tiers"),
    ],
)
def test_python_filters(memory: skymem.AgentMemory, filters: dict[str, Any]) -> None:
    assert len(memory.recall("reports", **filters)) == 1


def test_python_takes_times_as_everywhere(memory: skymem.AgentMemory) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=1)

    assert memory.recall("reports", since=ahead) == []
    assert memory.recall("reports", since=ahead.timestamp()) == []
    assert len(memory.recall("reports", since=ahead - timedelta(hours=2))) == 2
    with pytest.raises(InvalidMemoryError, match='"since" has no time zone'):
        memory.recall("reports", since=datetime(2025, 1, 1))  # noqa: DTZ001  (what is refused)


def test_python_raises_on_what_it_does_not_know(memory: skymem.AgentMemory) -> None:
    with pytest.raises(TypeError):
        memory.recall("reports", top=5)  # type: ignore[call-arg]  # what is refused
    with pytest.raises(UsageError):
        memory.recall("reports", mode="magic")
    with pytest.raises(EngineUnavailableError):
        memory.recall("reports", mode="semantic")


def test_a_handle_reads_its_own_agent_alone(memory: skymem.AgentMemory) -> None:
    hobbs = skymem.open_memory("hobbs")
    assert hobbs.recall("reports") == []
    hobbs.remember("his own")

    assert [one.content for one in hobbs.recall("reports")] == ["his own"]
    assert len(memory.recall("reports")) == 2


def test_who_may_only_append_may_not_recall(memory: skymem.AgentMemory) -> None:
    memory._home.owned = False

    with pytest.raises(NotAllowedError):
        memory.recall("reports")


@pytest.mark.usefixtures("memory")
def test_similar_texts_come_by_meaning_then_by_words(engine: Meanings) -> None:
    assert skymem.recall_similar("reports", top_k=1) == ["User wants reports at 7am"]
    found = skymem.open_memory().recall("reports", mode="deterministic")
    engine.cosines = {one.id: 0.9 for one in found if one.content == "proxy restarted"}

    assert skymem.recall_similar("reports", top_k=1) == ["proxy restarted"]
    assert skymem.recall_similar("reports") == ["proxy restarted", "User wants reports at 7am"]


@pytest.mark.usefixtures("memory")
def test_similar_texts_come_by_words_where_there_is_no_engine() -> None:
    assert skymem.recall_similar("reports") == ["User wants reports at 7am", "proxy restarted"]
