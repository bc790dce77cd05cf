"""What starting costs: an import loads no heavy part, and takes no time anyone would notice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

VECTORS = {"chromadb", "onnxruntime", "tokenizers", "torch", "sentence_transformers", "numpy"}
HEAVY = VECTORS | {"apscheduler", "structlog", "textual", "rich", "pydantic"}
ALLOWED = {"recall": {"numpy"}}  # the word index is read in arrays
IMPORT_SECONDS_MAX = 0.1
TRIES = 60  # one that other programs left alone is enough; an idle machine needs one

_LOADED = """
import json, sys
sys.argv = ["skymem", *{words!r}]
try:
    {statement}
except SystemExit:
    pass
sys.stderr.write(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""

_TIMED = """
import time
start = time.perf_counter()
import skymem
print(time.perf_counter() - start)
"""


def _loaded(statement: str, *words: str) -> set[str]:
    code = _LOADED.format(words=list(words), statement=statement)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_the_package_loads_nothing_but_itself() -> None:
    loaded = _loaded("import skymem")

    assert loaded & (HEAVY | {"yaml", "typer", "orjson", "sqlite3"}) == set()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["status", "--json"],
        ["promote", "--dry-run"],
        ["index", "--dry-run"],
        ["recall", "x", "--mode", "deterministic"],
        ["doctor"],
        ["check"],
        ["jobs"],
        ["pause", "memory_rotate_check"],
        ["trigger", "memory_rotate_check"],
    ],
    ids=" ".join,
)
def test_a_verb_that_needs_no_vectors_loads_none_of_it(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    start = "from skymem.cli.entry import main; main()"
    _loaded(start, "init", str(home))
    loaded = _loaded(start, "--home", str(home), *words)

    assert loaded & HEAVY == ALLOWED.get(words[0], set())


def test_the_status_of_a_home_with_plain_rules_loads_no_more_than_it_asks(tmp_path: Path) -> None:
    start = "from skymem.cli.entry import main; main()"
    _loaded(start, "init", str(tmp_path))
    code = """
import sys
from skymem.cli.entry import main
sys.argv = ["skymem", "--home", sys.argv[1], "status"]
try:
    main()
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = {*done.stderr.split()}

    assert "skymem.overview" in loaded
    assert (
        loaded & {"typer", "yaml", "difflib", "importlib.resources", "skymem.stores.words"} == set()
    )
    assert loaded & {"skymem.jobs.finding", "skymem.jobs.detail", "skymem.jobs.runner"} == set()


@pytest.mark.parametrize("words", [["promote"], ["recall", "x"], ["index"]], ids=" ".join)
def test_a_verb_that_does_need_vectors_leaves_them_to_the_engine(
    words: list[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path_factory.mktemp("home")
    start = "from skymem.cli.entry import main; main()"
    _loaded(start, "init", str(home))
    _loaded(start, "--home", str(home), "remember", "x", "--importance", "1")
    monkeypatch.delenv("SKYMEM_ENGINE")
    try:
        loaded = _loaded(start, "--home", str(home), *words)
    finally:
        engine = json.loads((home / "status/engine.json").read_text())  # one was started
        os.kill(engine["pid"], signal.SIGTERM)

    assert "skymem" in loaded
    assert loaded & HEAVY == ALLOWED.get(words[0], set())


def test_the_daemon_maps_no_library_of_vectors(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    _loaded("from skymem.cli.entry import main; main()", "init", str(home))
    command = [sys.executable, "-m", "skymem", "--home", str(home), "run"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as daemon:
        try:
            while not (home / "status/sky_heartbeat.json").exists():
                assert daemon.poll() is None
                time.sleep(0.05)
            mapped = Path(f"/proc/{daemon.pid}/maps").read_text()
        finally:
            daemon.terminate()

    assert "python" in mapped
    assert [name for name in VECTORS if f"/{name}" in mapped] == []


def test_importing_the_package_is_quick() -> None:
    taken: list[float] = []
    while len(taken) < TRIES and min(taken, default=1.0) > IMPORT_SECONDS_MAX:
        taken.append(float(subprocess.check_output([sys.executable, "-c", _TIMED], text=True)))

    assert min(taken) <= IMPORT_SECONDS_MAX
