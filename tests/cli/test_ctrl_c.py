"""Ctrl-C ends a command with 130 and without a word, also while the program is still loaded."""

import subprocess
import sys

import pytest

from tests.cli.conftest import Shell

_INTERRUPTED = """
import builtins, runpy, signal, sys

real = builtins.__import__

def interrupted(name, *rest, **more):
    if name == {module!r}:
        builtins.__import__ = real
        print("came")
        signal.raise_signal(signal.SIGINT)
    return real(name, *rest, **more)

builtins.__import__ = interrupted
sys.argv = ["skymem", "--home", {home!r}, "recent"]
runpy.run_module("skymem", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module",
    [
        "skymem.cli.entry",
        "errno",
        "skymem.errors",
        "skymem.cli.verbs",
        "typer",
        "skymem.app",
        "skymem.recall.listing",
    ],
)
def test_while_a_module_is_loaded(shell: Shell, module: str) -> None:
    code = _INTERRUPTED.format(module=module, home=str(shell.home))
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "came\n", "")


def test_nothing_is_loaded_before_the_first_line_that_catches_it() -> None:
    code = "import sys; before = {*sys.modules}; import skymem; print({*sys.modules} - before)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)

    assert loaded == "{'skymem'}\n"


def test_the_names_people_import_are_there_all_the_same() -> None:
    code = """
import skymem
from skymem import *

assert {*skymem.__all__} <= {*dir(skymem)}
assert all(callable(getattr(skymem, name)) for name in skymem.__all__)
assert skymem.remember_short is remember_short
assert not hasattr(skymem, "remember_shot")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
