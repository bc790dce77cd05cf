"""A replay that is told to end leaves no copy of memories behind."""

import os
import subprocess
import sys
from pathlib import Path

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, line

TOLD_AT_ONCE = """
import os, signal
from skymem.cli import entry, options
listen = options.stop_flag.listen
def listen_and_be_told():
    listen()
    os.kill(os.getpid(), signal.SIGTERM)
options.stop_flag.listen = listen_and_be_told
entry.main()
"""
"""The command; SIGTERM comes as soon as it listens, before it has made anything."""


def test_a_replay_that_is_told_to_end_takes_its_directory_away(tmp_path: Path) -> None:
    outside = Outside(HomePaths(tmp_path / "home"))
    assert outside("init", str(outside.paths.root)).code == 0
    outside.paths.agent("sky").directory.mkdir(parents=True, exist_ok=True)
    outside.echo(line("Users want reports at seven"))
    outside.done("promote")
    rules, scratch = tmp_path / "rules.yaml", tmp_path / "scratch"
    rules.write_text("promote_threshold: 0.95\n")
    scratch.mkdir()
    words = ["--home", str(outside.paths.root), "simulate", "--rules", str(rules)]

    replay = subprocess.run(
        [sys.executable, "-c", TOLD_AT_ONCE, *words],
        check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )

    assert replay.returncode == 130
    assert not [*scratch.iterdir()]
