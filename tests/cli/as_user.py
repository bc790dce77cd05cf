"""Runs command lines as other users: each line of stdin is a request, and each of stdout its end.

Those users may not reach the interpreter (root's own, say), so every module is loaded before; that
takes longer than most commands, so it is done once, and each command runs in a fork of its own.
"""

import contextlib
import gc
import importlib
import importlib.metadata
import io
import json
import os
import pkgutil
import signal
import sys
from typing import Any

import skymem
from skymem.cli import entry

SECONDS = 60


def load_everything() -> None:
    """Load every module that a command line uses."""
    for module in pkgutil.walk_packages(skymem.__path__, "skymem."):
        if module.name != "skymem.__main__" and not module.name.startswith("skymem.engine."):
            importlib.import_module(module.name)
    importlib.import_module("skymem.engine.client")  # of the engine, what a command line uses
    importlib.metadata.version("skymem")
    # A first error loads what printing one needs.
    sys.argv = ["skymem", "--home", "/nonexistent", "show", "x"]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        entry.main()


def become(asked: dict[str, Any]) -> None:
    """Take the place, streams and environment that were asked for, and be that user."""
    signal.alarm(SECONDS)  # it ends, whatever it does
    for fd, path in enumerate([os.devnull, asked["out"], asked["err"]]):
        os.dup2(os.open(path, os.O_RDWR), fd)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["place"])
    os.setgroups(asked["groups"])
    os.setresgid(*[asked["uid"]] * 3)
    os.setresuid(*[asked["uid"]] * 3)
    sys.argv = ["skymem", *asked["words"]]


def main() -> None:
    """Answer requests; a child leaves the loop, and ends as any command does."""
    load_everything()
    gc.freeze()  # what is loaded is no child's garbage: it need not copy it to look
    while request := sys.stdin.readline():
        child = os.fork()
        if not child:
            become(json.loads(request))
            entry.main()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


main()
