"""Running one hook: the event from stdin, the answer on stdout, and always exit code 0.

Light until the work begins, which is done in a child with a deadline (`watchdog`): a hung engine or
disk, a faulty home and a bug cost the person a sentence, and never a wait.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from skymem.hooks.event import Event, NoEventError
from skymem.hooks.watchdog import UnreadableError, read_all, within

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.hooks.answers import Answer

EVENTS: Final = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "tool-use": "PostToolUse",
    "stop": "Stop",
}
"""By verb, what a coding agent calls the moment."""

SECONDS: Final = {"session-start": 5.0, "prompt": 2.0, "tool-use": 5.0, "stop": 5.0}
"""What a hook may take in all. Nearly always it takes a small part of that."""

FAILED: Final = {
    "session-start": "no memory in this session",
    "prompt": "no memory for this prompt",
    "tool-use": "what the tool did may not be written",
    "stop": "the reply may not be written",
}
LETTERS_MAX: Final = 400

SECONDS_VARIABLE: Final = "SKYMEM_HOOK_SECONDS"
SECONDS_MAX: Final = 600.0


def run_hook(verb: str, home: str | None, agent: str | None) -> None:
    """Do what a hook is for, and tell it as coding agents read it; never fails."""
    until = time.monotonic() + _seconds(verb)
    try:
        event = Event.read(read_all(0, until))
    except (UnreadableError, NoEventError, OSError, ValueError) as error:
        _complain(f"hook {verb}: {error}; nothing is done")
        return

    def work(report: Callable[[bytes], None]) -> None:
        answer = _answer(verb, home, agent, event)
        given = True
        try:
            report(json.dumps(spelled(verb, answer)).encode())
        except BrokenPipeError:  # too late for this one: the next may fare better
            given = False
        answer.afterwards(given)

    done = within(until, work)
    if done.report is None:
        said, told = _failure(verb, done.said)
    else:
        said, told = json.loads(done.report)
    sys.stderr.write(said)
    try:
        sys.stdout.write(told)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever asked has left
        sys.stdout = None


def _seconds(verb: str) -> float:
    """What a hook may take: as the environment says, where that can be, else as usual."""
    try:
        seconds = float(os.environ.get(SECONDS_VARIABLE, ""))
    except ValueError:
        return SECONDS[verb]
    return seconds if 0 < seconds <= SECONDS_MAX else SECONDS[verb]


def answer_of(home: "Home", verb: str, agent: str | None, event: Event) -> "Answer":
    """Do the work, in a home that is open.

    Raises:
        SkymemError: as the work meets it.
    """
    from skymem.app import agent_from_environment
    from skymem.config.hook_variables import hook_settings
    from skymem.hooks.answers import HOOKS, Answer
    from skymem.policy.admit import check_agent_name

    home.program, home.door = "hook", f"hook:{verb}"
    whom = check_agent_name(agent_from_environment() if agent is None else agent)
    home = home.bind(whom)
    settings = hook_settings(home.workplace().environment)
    if not settings.enabled:
        return Answer()
    return HOOKS[verb](home, whom, event, settings)


def spelled(verb: str, answer: "Answer") -> tuple[str, str]:
    """An answer as it is told: on stderr, and on stdout."""
    said = [*answer.notes, *([answer.warning] if answer.warning else [])]
    message = f"skymem: {answer.warning}" if answer.warning else ""
    return "".join(map(_complaint, said)), _document(verb, answer.context, message)


def _answer(verb: str, name: str | None, agent: str | None, event: Event) -> "Answer":
    """Do the work, in the child."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that nothing here is for
    from skymem.app import open_home

    home = open_home(name, become_owner=True, appending=True, lenient=True)
    return answer_of(home, verb, agent, event)


def _failure(verb: str, said: str) -> tuple[str, str]:
    """Tell that the work came to nothing, and why: the last that was said."""
    lines = said.splitlines()
    why = lines[-1].removeprefix("skymem: ")[:LETTERS_MAX] if lines else "it said nothing"
    failed = f"{FAILED[verb]}: {why}"
    complaints = [*(line.removeprefix("skymem: ") for line in lines), failed]
    return "".join(map(_complaint, complaints)), _document(verb, "", f"skymem: {failed}")


def _document(verb: str, context: str, message: str) -> str:
    """The documented shape of what a coding agent reads; "" where there is nothing to say."""
    told: dict[str, Any] = {}
    if context:
        about = {"hookEventName": EVENTS[verb], "additionalContext": context}
        told["hookSpecificOutput"] = about
    if message:
        told["systemMessage"] = message
    return json.dumps(told) + "\n" if told else ""


def _complain(text: str) -> None:
    sys.stderr.write(_complaint(text))


def _complaint(text: str) -> str:
    from skymem.model.harmless import harmless

    return f"skymem: {harmless(text)}\n"
