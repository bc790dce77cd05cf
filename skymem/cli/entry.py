"""The entry point: the one place that prints errors and picks exit codes.

`skymem status` is polled by people, prompts and monitors, and building the whole command line costs
several times what the answer does: a plain `status` is answered without it, and so are the hooks
that a coding agent calls at each prompt.
"""

import errno
import io
import os
import signal
import sys
from typing import Final

from skymem.errors import DiskError, InterruptedRunError, SkymemError

HOOK_WORDS: Final = 6
"""`--home PATH --agent NAME hook VERB`."""

VALUED: Final = ("--home", "--agent", "--log-level")
"""What stands before the verb and takes a value."""


def main() -> None:
    """Run a command line; ends the process with a code of the table in docs/commands.md.

    Ctrl-C, outside the verbs that finish their step first, ends it without a word.
    """
    try:
        _main()
    except KeyboardInterrupt:
        sys.exit(InterruptedRunError.exit_code)


def _main() -> None:
    _keep_signals_back(sys.argv[1:])
    os.umask(0o077)  # whatever a library creates beside us stays private too (hazard H7)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that has no “–” is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        sys.exit(code)
    except SkymemError as error:
        from skymem.cli.render import complain

        for text in str(error).split("\n"):
            complain(text)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO):
            raise
        # What was asked for is done, or its own error was told: only the telling failed.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (or the interpreter tries again at exit)
        sys.stderr.write(f"skymem: can't write to stdout: {error.strerror}\n")
        sys.exit(DiskError.exit_code)


def _run(words: list[str]) -> int:
    if _is_hook(words):
        return _run_hook(words)
    home, rest = _home_of(words)
    if rest in (["status"], ["status", "--json"]):
        from skymem.cli.status_text import print_status

        print_status(home, as_json=len(rest) > 1)
        return 0
    from skymem.cli.verbs import run_command_line

    try:
        run_command_line(_verb_alone(words))
    except SystemExit as ended:
        # Typer ends with 1 where the reader of a help text has had enough.
        if isinstance(ended.__context__, BrokenPipeError) and _reader_is_gone():
            return 0
        raise
    return 0


def _is_hook(words: list[str]) -> bool:
    """Whether it is a coding agent's call, spelled as `skymem hook install` spells it."""
    hooks = ("session-start", "prompt", "tool-use", "stop")
    named = [*words[0:4:2]] == ["--home", "--agent"]
    return named and len(words) == HOOK_WORDS and words[4] == "hook" and words[5] in hooks


def _run_hook(words: list[str]) -> int:
    """Run it without the command line's other parts: a person waits."""
    from skymem.hooks.run import run_hook

    run_hook(words[5], words[1], words[3])
    return 0


def _reader_is_gone() -> bool:
    """Whether nobody reads stdout any more."""
    import select

    stdout = select.poll()
    stdout.register(1, 0)  # an error is always told
    return any(event & select.POLLERR for _, event in stdout.poll(0))


def _keep_signals_back(words: list[str]) -> None:
    """Have the kernel keep back what comes before the daemon has put its flags up (hazard F8)."""
    if _verb_of(words) in ("run", "serve"):
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))


def _verb_of(words: list[str]) -> str:
    """The first word that is neither an option nor an option's value."""
    left = iter(words)
    for word in left:
        if word in VALUED:
            next(left, None)
        elif not word.startswith("-"):
            return word
    return ""


def _verb_alone(words: list[str]) -> str:
    """The verb, where nothing before it asks for what is about all verbs, as `--help` does."""
    left = iter(words)
    for word in left:
        name, _, value = word.partition("=")
        if name not in VALUED:
            return word
        if not value:
            next(left, None)
    return ""


def _home_of(words: list[str]) -> tuple[str | None, list[str]]:
    """Split `--home PATH` off the front, where nothing else stands before the verb."""
    if len(words) > 1 and words[0] == "--home":
        return words[1], words[2:]
    return None, words
