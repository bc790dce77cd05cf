"""A change of model as somebody meets it: real models, real Chroma, real processes, real kills."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from skymem.engine.client import Engine
from skymem.engine.models import INT8_PACKAGE, VOCABULARY, package_directory
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.lock import holder_of
from tests.acceptance.homes import Outside, line, told_by, wait_until, whole

DEFAULT = "all-MiniLM-L6-v2"
OPENINGS = ("The user asks about", "Yesterday we talked of", "Remember to look at", "Ana wants")
SUBJECTS = (
    "the weekly report to the board", "watering the vegetable garden", "a flight to Lima in May",
    "the price of fresh bread", "the appointment at the dentist", "unit tests that fail at night",
    "a car with broken brakes", "the songs of the choir", "winter tyres for the bus",
    "tax forms of last year",
)  # fmt: skip
TEXTS = [f"{opening} {subject}" for opening in OPENINGS for subject in SUBJECTS]
ZEROED = slice(4_000_000, 4_400_000)
"""Of the file, among the vectors of words: rare ones lose theirs, and the model is another one."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """A home with forty memories in long-term, indexed with the default model."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    made.echo(*(line(text, id=f"m{number:02}") for number, text in enumerate(TEXTS)))
    assert made.done("promote")["promoted"] == len(TEXTS)
    assert made.done("index")["indexed"] == len(TEXTS)
    yield made
    shadow = holder_of(ShadowPaths(made.paths.root).engine_lock)
    made.close()
    assert shadow == ""


def model(directory: Path, *, vocabulary: bytes | None = None) -> Path:
    """Another real model: the packaged one with some weights, or the vocabulary, replaced."""
    package = package_directory(INT8_PACKAGE)
    assert package is not None
    weights = bytearray((package / "model.onnx").read_bytes())
    weights[ZEROED] = bytes(ZEROED.stop - ZEROED.start)
    directory.mkdir()
    (directory / "model.onnx").write_bytes(weights)
    (directory / "vocab.txt").write_bytes(vocabulary or VOCABULARY.read_bytes())
    return directory


def tokens_of_nobody() -> bytes:
    """The vocabulary of another language, as it were: every word is unknown."""
    words = VOCABULARY.read_text(encoding="utf-8").split("\n")
    kept = [one if one.startswith("[") else f"qqq{n}" for n, one in enumerate(words)]
    return "\n".join(kept).encode()


class Reader:
    """Asks the engine all the time, for memory after memory by its own text."""

    def __init__(self, paths: HomePaths) -> None:
        self.right: Counter[str] = Counter()
        """Right answers, by the epoch of the index that gave them."""

        self.wrong: list[str] = []
        self._client = Engine(paths, Files(), EngineRules())
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            number = (number + 1) % len(TEXTS)
            try:
                found: Any = self._client.query("sky", TEXTS[number], 3)
                if found["hits"][0][0] == f"m{number:02}":
                    self.right[found["epoch"]] += 1
                else:
                    self.wrong.append(f"{number}: {found['hits']}")
            except Exception as error:  # noqa: BLE001  (whatever it is, it is the finding)
                self.wrong.append(repr(error))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._client.close()


def test_who_asks_all_the_time_gets_a_right_answer_through_migration_and_rollback(
    home: Outside, tmp_path: Path
) -> None:
    new = model(tmp_path / "rarer-words")
    pid = home.engine_pid()
    with Reader(home.paths) as reader:
        wait_until(lambda: reader.right.total() > 20, "the old model answers")
        done = home.done("index", "--migrate", str(new))
        there = reader.right.total()
        wait_until(lambda: reader.right.total() > there + 20, "the new model answers")
        assert home.done("status")["engine"]["in_use"]["model"] == str(new)
        for words in (["status"], ["config", "show"], ["index", "--stats"]):
            assert f"(state/model.json; the configuration says {DEFAULT})" in home(*words).out
        assert whole(home.done("index", "--stats")) == []
        back = home.done("index", "--rollback")
        there = reader.right.total()
        wait_until(lambda: reader.right.total() > there + 20, "the old model answers again")

    assert reader.wrong == []
    assert len(reader.right) == 2  # the epochs of two indexes, whole both
    assert min(reader.right.values()) > 10
    assert home.engine_pid() == pid
    assert (done["migrated"], done["embedded"], done["model"]) == (True, 40, "rarer-words")
    assert done["parity"]["overlap"] > 0.8
    assert done["parity"]["recalled"] == 1.0
    assert (back["embedded"], back["model"], back["to"]) == (0, DEFAULT, DEFAULT)
    assert whole(home.done("index", "--stats")) == []
    assert home.done("config", "show")["rules"]["engine"]["model"]["value"] == DEFAULT


def test_a_model_with_a_wrong_vocabulary_is_refused(home: Outside, tmp_path: Path) -> None:
    new = model(tmp_path / "wrong-words", vocabulary=tokens_of_nobody())
    refused = home("index", "--migrate", str(new), "--json")

    assert (refused.code, refused.json["migrated"]) == (26, False)
    assert refused.json["parity"]["overlap"] < 0.5
    assert "--min-parity" in refused.json["error"]
    assert refused.json["model"] == DEFAULT
    assert not home.paths.model_record.exists() or home.done("status")["engine"]["in_use"] == {
        "model": DEFAULT,
        "why": "as configured",
    }
    assert home.done("index", "--migrate", str(new), "--min-parity", "0")["migrated"]


def test_killed_again_and_again_it_goes_on_by_itself_and_nobody_who_asks_notices(
    home: Outside, tmp_path: Path
) -> None:
    new = model(tmp_path / "rarer-words")
    change = ("index", "--migrate", str(new), "--batch-size", "1", "--json")
    cache = home.paths.embeddings / "sky"
    chance = random.Random(11)
    with Reader(home.paths) as reader:
        command = home.start(*change)
        wait_until(lambda: [*cache.glob("rarer-words-*/register.db")], "the shadow is at work")
        killed_with_shadow(home, command)
        assert command.returncode == -signal.SIGKILL
        assert any("was begun" in note for note in home.done("status")["notes"])
        for _ in range(3):
            command = home.start(*change)
            time.sleep(chance.uniform(0.5, 3.0))
            killed_with_shadow(home, command)
        command = home.start(*change)
        wait_until(lambda: '"switched": 1' in _record(home), "it is switched")
        home.end_engine(signal.SIGKILL)
        told = told_by(command)

    assert reader.wrong == []
    assert reader.right.total() > 20
    assert told.code == 0, told
    assert told.json["model"] == "rarer-words"
    assert home("recall", TEXTS[5], "--mode", "semantic", "--json").firsts() == [TEXTS[5]]
    assert not any("was begun" in note for note in home.done("status")["notes"])
    assert home.done("index", "--migrate", str(new))["why"] == f"{new} is the model in use"
    assert whole(home.done("index", "--stats")) == []


def killed_with_shadow(home: Outside, command: subprocess.Popen[str]) -> None:
    """Kill a command, unless it has ended by itself, and the shadow where it has one."""
    command.kill()
    assert told_by(command).code in {-signal.SIGKILL, 0}
    shadow = holder_of(ShadowPaths(home.paths.root).engine_lock).split()
    if shadow:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(shadow[1]), signal.SIGKILL)


def test_a_shadow_that_was_left_gives_its_cache_up_to_who_configures_its_model(
    home: Outside, tmp_path: Path
) -> None:
    new = model(tmp_path / "rarer-words")
    command = home.start("index", "--migrate", str(new), "--batch-size", "1")
    cache = home.paths.embeddings / "sky"
    wait_until(lambda: [*cache.glob("rarer-words-*/register.db")], "the shadow is at work")
    command.kill()
    told_by(command)
    lock = ShadowPaths(home.paths.root).engine_lock
    assert holder_of(lock), "the shadow lives on"
    home.paths.rules.write_text(f"engine: {{model: {new}}}\n")
    done = home.done("index")

    assert (done["model"], done["indexed"]) == ("rarer-words", 40)
    assert holder_of(lock) == ""
    assert whole(home.done("index", "--stats")) == []


def test_back_from_a_model_whose_files_are_gone(home: Outside, tmp_path: Path) -> None:
    new = model(tmp_path / "rarer-words")
    assert home.done("index", "--migrate", str(new))["migrated"]
    (new / "model.onnx").unlink()
    home.end_engine()
    assert home("recall", TEXTS[1], "--mode", "semantic").code == 40
    assert home.done("recall", TEXTS[1])["mode"] == "deterministic"

    assert home.done("index", "--rollback")["model"] == DEFAULT
    assert home("recall", TEXTS[1], "--mode", "semantic", "--json").firsts() == [TEXTS[1]]
    told = home("index", "--rollback")
    assert (told.code, "no model at" in told.err) == (40, True)
    assert home.done("status")["engine"]["in_use"]["model"] == DEFAULT


def _record(home: Outside) -> str:
    try:
        return home.paths.model_record.read_text()
    except FileNotFoundError:
        return ""


def test_what_can_not_be_done_says_so_and_changes_nothing(home: Outside, tmp_path: Path) -> None:
    for words, code, said in (
        (["--migrate", str(tmp_path / "nowhere")], 40, "no model at"),
        (["--migrate", "no-such-model"], 40, "no model no-such-model"),
        (["--migrate", "a/b"], 2, "neither a model's name nor a path"),
        (["--rollback"], 2, "there is no model to go back to"),
        (["--migrate", "x", "--rollback"], 2, "give one of"),
        (["--min-parity", "0.3"], 2, "belongs to --migrate"),
    ):
        told = home("index", *words)
        assert (told.code, said in told.err) == (code, True), told
    assert home("--agent", "sky", "index", "--rollback").code == 2
    assert home("recall", TEXTS[8], "--json").firsts() == [TEXTS[8]]
