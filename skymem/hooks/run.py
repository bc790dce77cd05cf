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
        told = [answer.context, [*answer.notes], answer.warning]
        report(json.dumps(told).encode())
        answer.afterwards()

    done = within(until, work)
    if done.report is None:
        said = done.said.splitlines()
        why = said[-1].removeprefix("skymem: ")[:LETTERS_MAX] if said else "it said nothing"
        for line in said:
            _complain(line.removeprefix("skymem: "))
        _tell(verb, "", f"skymem: {FAILED[verb]}: {why}")
        return
    context, notes, warning = json.loads(done.report)
    for note in notes:
        _complain(note)
    _tell(verb, context, f"skymem: {warning}" if warning else "")


def _seconds(verb: str) -> float:
    """What a hook may take: as the environment says, where that can be, else as usual."""
    try:
        seconds = float(os.environ.get(SECONDS_VARIABLE, ""))
    except ValueError:
        return SECONDS[verb]
    return seconds if 0 < seconds <= SECONDS_MAX else SECONDS[verb]


def _answer(verb: str, name: str | None, agent: str | None, event: Event) -> "Answer":
    """Do the work, in the child."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that nothing here is for
    from skymem.app import agent_from_environment, open_home
    from skymem.config.hook_variables import hook_settings
    from skymem.hooks.answers import HOOKS, Answer
    from skymem.policy.admit import check_agent_name

    home = open_home(name, become_owner=True, appending=True, lenient=True)
    home.program, home.door = "hook", f"hook:{verb}"
    whom = check_agent_name(agent_from_environment() if agent is None else agent)
    home = home.bind(whom)
    settings = hook_settings(home.workplace().environment)
    if not settings.enabled:
        return Answer()
    return HOOKS[verb](home, whom, event, settings)


def _tell(verb: str, context: str, message: str) -> None:
    """Print the answer in the documented shape; nothing where there is nothing to say."""
    told: dict[str, Any] = {}
    if context:
        about = {"hookEventName": EVENTS[verb], "additionalContext": context}
        told["hookSpecificOutput"] = about
    if message:
        _complain(message.removeprefix("skymem: "))
        told["systemMessage"] = message
    if told:
        try:
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # whoever asked has left
            sys.stdout = None


def _complain(text: str) -> None:
    from skymem.model.harmless import harmless

    sys.stderr.write(f"skymem: {harmless(text)}\n")
