"""What each hook does: read what belongs into a prompt, or append one line (row R13).

The two that read ask an engine only where one runs, and wait a moment for it; the two that append
ask neither engine nor model.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from skymem.errors import BusyError, EngineUnavailableError
from skymem.hooks.event import TEXT_LETTERS_MAX, Event, utf8

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.config.hook_variables import HookSettings
    from skymem.engine.client import Engine
    from skymem.model.memory import Memory
    from skymem.recall.meaning import Vectors
    from skymem.recall.result import Recall

CRUMB: Final = "crumb"
TOOL: Final = "tool"

MEMORIES_MAX: Final = 6
PROMPT_LETTERS_MAX: Final = 4_000
"""Of a prompt, what is asked about: somebody may paste a book."""

ENGINE_SECONDS: Final = 0.12
"""What the engine may take of a prompt's time, for all it is asked: what is left is for words."""

DONE_LETTERS_MAX: Final = 600
ANSWER_LETTERS_MAX: Final = 900
REPLY_LETTERS_MAX: Final = 4_000
TAIL_BYTES: Final = 256 * 1024
"""Of a transcript, where the last reply is looked for."""


@dataclass(slots=True)
class Answer:
    """What a hook has to say."""

    context: str = ""
    """What goes into the prompt."""

    notes: Sequence[str] = ()
    """What was done without, for whoever looks into the log."""

    warning: str = ""
    """What the person should know."""

    afterwards: Callable[[bool], None] = field(default=lambda _: None)
    """What is done once nobody waits; told whether the answer was given in time."""


def session_start(home: "Home", agent: str, _event: Event, settings: "HookSettings") -> Answer:
    """Give what holds whatever is asked: notes, preferences, business; without the engine."""
    from skymem import prompting

    if not home.workplace().agent_paths(agent).directory.is_dir():
        return Answer(notes=[f"agent {agent} has no memory yet"])
    made = prompting.context(home, agent, settings=settings)
    return Answer(made.text, made.degraded, afterwards=lambda _: _wake(home, agent))


def prompt(home: "Home", agent: str, event: Event, settings: "HookSettings") -> Answer:
    """Recall for a prompt, by meaning where an engine runs and answers at once, else by words."""
    asked = event.prompt[:PROMPT_LETTERS_MAX].strip()
    if not asked:
        return Answer(notes=["the event has no prompt"])
    if not home.workplace().agent_paths(agent).directory.is_dir():
        return Answer(notes=[f"agent {agent} has no memory yet"])
    hurried = _Hurried(home)
    found = _recalled(home, agent, asked, event.text("session_id"), hurried)
    text, told = _composed(asked, found, settings)
    warning = f"recalled by words only: {hurried.failed}" if hurried.failed else ""

    def count(given: bool) -> None:  # noqa: FBT001  (what `afterwards` is told)
        from skymem.stores.recall_log import note_recalled

        if given and told and home.rules.recall_log:
            note_recalled(home.paths, home.files, agent, told)
        _stand_by(home, agent)

    return Answer(text, [*found.degraded, *home.faults], warning, count)


def tool_use(home: "Home", agent: str, event: Event, _settings: "HookSettings") -> Answer:
    """Append what a tool did and answered, cut to a bound, as a crumb that came of a tool."""
    tool = event.text("tool_name")
    if not tool:
        return Answer(notes=["the event names no tool; nothing is written"])
    done = _without_secrets(home, event.done, DONE_LETTERS_MAX)
    answer = _without_secrets(home, event.answer, ANSWER_LETTERS_MAX)
    text = f"{tool}: {done}" if done else tool
    _append(home, agent, event, f"{text}\n→ {answer}" if answer else text)
    return Answer()


def stop(home: "Home", agent: str, event: Event, settings: "HookSettings") -> Answer:
    """Append the agent's last reply, where replies are to be stored; else nothing."""
    if not settings.store_responses:
        return Answer()
    reply = event.text("last_assistant_message", TEXT_LETTERS_MAX).strip()
    reply = reply or utf8(_last_reply(event.text("transcript_path", 4096)))
    reply = _without_secrets(home, reply, REPLY_LETTERS_MAX)
    if not reply:
        return Answer(notes=["no reply was found; nothing is written"])
    _append(home, agent, event, reply)
    return Answer()


HOOKS: Final = {
    "session-start": session_start,
    "prompt": prompt,
    "tool-use": tool_use,
    "stop": stop,
}


class _Hurried:
    """The engine for somebody who waits: never started, and asked for a moment in all."""

    def __init__(self, home: "Home") -> None:
        self._home = home
        self.failed = ""
        """Why one that runs did not answer."""

    def connect(self) -> "Vectors":
        """Give what recall asks, which has said a word already: a hung one costs no more than that.

        Raises:
            EngineUnavailableError, BusyError: none runs, none is to be used, or it hangs.
        """
        from skymem.app import engine_allowed

        if not engine_allowed():
            raise EngineUnavailableError("SKYMEM_ENGINE=off")
        home = self._home
        if not home.paths.engine_socket.exists():  # the client costs more than this look
            raise EngineUnavailableError("it is not running")
        from skymem.engine.client import Engine

        engine = Engine(home.paths, home.files, home.rules.engine, start=False)
        moment = _Moment(self, engine)
        moment.ask(lambda left: engine.overview(deadline_seconds=left))
        return moment


@dataclass(slots=True)
class _Moment:
    """A connection that takes no more than a moment for all it is asked."""

    hurried: _Hurried
    engine: "Engine"
    left: float = ENGINE_SECONDS

    def running(self) -> bool:
        """It is not started here, so that it need not be waited for."""
        return True

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = (),
        also: Sequence[str] = (),
        *,
        deadline_seconds: float = ENGINE_SECONDS,
    ) -> dict[str, Any]:
        """Ask, in what is left of its moment."""

        def query(left: float) -> dict[str, Any]:
            seconds = min(deadline_seconds, left)
            return self.engine.query(
                agent, text, limit, collections, also, deadline_seconds=seconds
            )

        return self.ask(query)

    def likeness(
        self,
        text: str,
        texts: Sequence[str],
        *,
        agent: str = "",
        deadline_seconds: float = ENGINE_SECONDS,
    ) -> dict[str, Any]:
        """Compare texts, in what is left of its moment."""

        def compare(left: float) -> dict[str, Any]:
            seconds = min(deadline_seconds, left)
            return self.engine.likeness(text, texts, agent=agent, deadline_seconds=seconds)

        return self.ask(compare)

    def ask(self, call: Callable[[float], dict[str, Any]]) -> dict[str, Any]:
        """Make a call that is told what it may take."""
        began = time.monotonic()
        try:
            return call(self.left)
        except EngineUnavailableError as error:
            self.hurried.failed = str(error)
            raise
        finally:
            self.left = max(0.0, self.left - (time.monotonic() - began))


def _recalled(home: "Home", agent: str, asked: str, session: str, hurried: _Hurried) -> "Recall":
    from skymem.policy.context import Audience
    from skymem.recall.request import Filters, ask
    from skymem.recall.search import recall

    home.only_owner("recall")
    audience = Audience()

    def admits(memory: "Memory") -> bool:
        """What this session itself left is in its agent's sight already."""
        here = bool(session) and memory.metadata.get("session") == session
        return not here and audience.admits_beside_notes(memory)

    mode, without = "auto", ""
    try:
        vectors: Vectors | None = hurried.connect()
    except (EngineUnavailableError, BusyError) as error:
        vectors, mode, without = None, "deterministic", f"by words only: {error}"
    request = ask(asked, MEMORIES_MAX, mode, filters=Filters(besides=admits))
    found = recall(home.workplace(), agent, request, lambda: cast("Vectors", vectors))
    if without:
        found.degraded.append(without)
    return found


def _composed(asked: str, found: "Recall", settings: "HookSettings") -> tuple[str, list[str]]:
    """The block of what has to do with a prompt, quoted as data; and whose ids stand in it."""
    from skymem.policy.context import MEMORIES, Layer, Piece, Subject, compose

    subject = Subject.of(asked)
    pieces = tuple(
        Piece(one.id, one.tier, one.memory, "similarity")
        for one in found
        if one.memory is not None and subject.concerns(one.memory, one.parts)
    )
    made = compose([Layer(MEMORIES, pieces)], chars_max=settings.chars_max, limit=settings.limit)
    return made.text, [piece.id for layer in made.layers for piece in layer.pieces]


def _wake(home: "Home", agent: str) -> None:
    """Have all at hand by the time of the next prompt."""
    from skymem.app import engine_allowed

    _stand_by(home, agent)
    if engine_allowed():
        home.engine().query(agent, "hello", 1)


def _stand_by(home: "Home", agent: str) -> None:
    """Have the next prompt answered by a process that has all at hand."""
    from skymem.hooks import starting

    starting.ensure(home, agent)


def _append(home: "Home", agent: str, event: Event, text: str) -> None:
    from skymem import doors
    from skymem.app import now

    about = {
        "session": event.text("session_id"),
        "event": event.text("hook_event_name"),
        "tool": event.text("tool_name"),
        "cwd": event.text("cwd", 1024),
    }
    extra = {"kind": CRUMB, "metadata": {name: said for name, said in about.items() if said}}
    line = doors.new_memory(home, text, now=now(), origin=TOOL, extra=extra)
    doors.take_in(home, agent, [line])


def _without_secrets(home: "Home", text: str, most: int) -> str:
    """The beginning of a text; a secret leaves before the cut, half of it would not be known."""
    from skymem.policy.quoting import without_fenced
    from skymem.policy.secrets import guard_of

    clean, _ = guard_of(home.rules.secrets).text(without_fenced(text))
    return clean if len(clean) <= most else f"{clean[:most]} …"


def _last_reply(path: str) -> str:
    """The agent's last text in a transcript; "" where there is none, or no such file."""
    for line in _last_lines(path):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.get("type") == "assistant":
            message = found.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            if text := _text_of(content):
                return text[:TEXT_LETTERS_MAX]
    return ""


def _last_lines(path: str) -> Iterator[bytes]:
    """The whole lines of a file's end, the last one first."""
    if not os.path.isabs(path) or "\0" in path:
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return
    with open(fd, "rb") as stream:
        status = os.fstat(fd)
        if stat.S_ISREG(status.st_mode):
            start = max(0, status.st_size - TAIL_BYTES)
            lines = os.pread(stream.fileno(), TAIL_BYTES, start).split(b"\n")
            yield from reversed(lines[1:] if start else lines)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [one.get("text") for one in blocks if isinstance(one, dict)]
    return "\n".join(one for one in texts if isinstance(one, str)).strip()
