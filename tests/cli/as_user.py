"""Runs the command line as another user: `as_user.py UID GROUP,GROUP WORD…`.

That user may not reach the interpreter (root's own, say), so every module is loaded before.
"""

import contextlib
import importlib
import importlib.metadata
import io
import os
import pkgutil
import sys

import skymem
from skymem.cli import entry


def main() -> None:
    """Load everything, become the user, run."""
    for module in pkgutil.walk_packages(skymem.__path__, "skymem."):
        if module.name != "skymem.__main__" and not module.name.startswith("skymem.engine."):
            importlib.import_module(module.name)
    importlib.import_module("skymem.engine.client")  # of the engine, what a command line uses
    importlib.metadata.version("skymem")
    uid, groups, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    # A first error loads what printing one needs.
    sys.argv = ["skymem", "--home", "/nonexistent", "show", "x"]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        entry.main()
    os.setgroups([int(group) for group in groups.split(",") if group])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    sys.argv = ["skymem", *words]
    entry.main()


main()
