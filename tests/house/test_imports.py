"""What starting costs: an import loads no heavy part, and takes no time anyone would notice."""

import json
import subprocess
import sys

import pytest

HEAVY = {"chromadb", "onnxruntime", "torch", "sentence_transformers", "apscheduler", "structlog"}
IMPORT_SECONDS_MAX = 0.1
TRIES = 7

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


@pytest.mark.parametrize("words", [["--help"], ["status", "--json"], ["promote", "--dry-run"]])
def test_a_verb_that_needs_no_vectors_loads_none_of_it(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    start = "from skymem.cli.entry import main; main()"
    _loaded(start, "init", str(home))
    loaded = _loaded(start, "--home", str(home), *words)

    assert loaded & HEAVY == set()


def test_importing_the_package_is_quick() -> None:
    taken = [
        float(subprocess.check_output([sys.executable, "-c", _TIMED], text=True))
        for _ in range(TRIES)
    ]

    assert min(taken) <= IMPORT_SECONDS_MAX
