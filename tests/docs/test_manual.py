"""The man page is as `man` wants it; completions complete, in the shells themselves."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.docs.manual import FILES, ROOT
from tests.docs.surface import Verb, surface

MAN, BASH, ZSH, FISH = (ROOT / name for name in FILES)
VERBS = {verb.name: verb for verb in surface()}

TABLE = """
source "$1"
while read -r line; do
    COMP_WORDS=(skymem $line)
    [[ $line == *-- ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _skymem 2>/dev/null
    echo "$line>${COMPREPLY[*]}"
done
"""
"""Asks bash's function what it would offer after each line."""


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool} here")


@pytest.mark.parametrize("name", FILES)
def test_what_is_kept_is_what_the_command_line_says(name: str) -> None:
    """Else: python -m tests.docs.manual."""
    assert (ROOT / name).read_text() == FILES[name]()


@needs("mandoc")
def test_mandoc_finds_nothing_in_the_man_page() -> None:
    done = subprocess.run(
        ["mandoc", "-T", "lint", MAN], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (0, "")


@needs("man")
def test_man_shows_every_verb_without_a_warning() -> None:
    command = ["man", "--warnings", "--local-file", str(MAN)]
    environment = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    shown = set(re.findall(r"^   (skymem .*)$", done.stdout, re.M))

    assert done.stderr == ""
    assert shown == {f"skymem {verb.name}" for verb in VERBS.values() if not verb.verbs}


def offered(verb: Verb) -> tuple[set[str], set[str]]:
    return set(verb.verbs), {name for one in verb.options for name in one.names}


def test_bash_is_told_every_verb_and_option() -> None:
    asked = [line for name in VERBS for line in (name, f"{name} --".strip())]
    done = subprocess.run(
        ["bash", "-c", TABLE, "bash", BASH],
        check=True, capture_output=True, text=True, input="\n".join(asked) + "\n",
        cwd=ROOT / "docs/man",
    )  # fmt: skip
    told = dict(line.split(">", 1) for line in done.stdout.splitlines())

    assert len(told) == len(asked)
    for name, verb in VERBS.items():
        files = {"skymem.1"} if verb.takes_file and not verb.verbs else set()
        verbs, options = offered(verb)
        assert set(told[name].split()) == verbs | files, name
        assert set(told[f"{name} --".strip()].split()) == options, name


@needs("fish")
def test_fish_is_told_every_verb_and_option(tmp_path: Path) -> None:
    asked = [line for name in VERBS for line in (f"skymem {name} ", f"skymem {name} --")]
    asked = [re.sub(" +", " ", line) for line in asked]
    script = f"source {FISH}\n" + "".join(
        f"echo '>{line}'; complete -C '{line}' | string split -f1 \\t\n" for line in asked
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        check=True, capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    found = [part.split("\n") for part in done.stdout.split(">")[1:]]
    told = {line: set(rest) - {""} for line, *rest in found}

    for name, verb in VERBS.items():
        start = f"skymem {name} " if name else "skymem "
        verbs, options = offered(verb)
        assert told[start] >= verbs, name
        assert told[f"{start}--"] == options, name


def typed(shell: list[str], setting: str, keys: str, home: Path) -> list[str]:
    """What the command gets whose words are typed into a real shell, with Tab where keys say so."""
    pid, fd = pty.fork()
    if not pid:
        environment = {**os.environ, "HOME": str(home), "TERM": "dumb", "PS1": ""}
        os.chdir(home)
        os.execvpe(shell[0], shell, environment)
    try:
        os.write(
            fd, f"{setting}\nskymem() {{ printf '<%s>' \"$@\"; echo; }}; echo re''ady\n".encode()
        )
        wait_for(fd, r"ready\s")
        os.write(fd, f"{keys}\n".encode())
        return re.findall(r"<([^>%]*)>", wait_for(fd, r"(<[^>%]*>)+\s*\n"))
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


def wait_for(fd: int, pattern: str) -> str:
    """Read what a shell shows until it has shown that."""
    shown, until = "", time.monotonic() + 60
    while not re.search(pattern, shown):
        assert time.monotonic() < until, shown
        if select.select([fd], [], [], 1)[0]:
            shown += os.read(fd, 65536).decode(errors="replace")
    return shown


KEYS = "skymem --home x not\twri\t --us\tann --dry\t"


def test_a_real_bash_completes(tmp_path: Path) -> None:
    words = typed(["bash", "--norc", "--noprofile", "-i"], f"source {BASH}", KEYS, tmp_path)

    assert words == ["--home", "x", "note", "write", "--user", "ann", "--dry-run"]


@needs("zsh")
def test_a_real_zsh_completes(tmp_path: Path) -> None:
    setting = f"fpath=({ZSH.parent} $fpath); autoload -Uz compinit; compinit -u -D"
    words = typed(["zsh", "-f", "-i"], setting, KEYS, tmp_path)

    assert words == ["--home", "x", "note", "write", "--user=ann", "--dry-run"]
