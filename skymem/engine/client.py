"""How everything else talks to the engine: each call has a deadline and one retry.

The connection is kept between calls. Where no engine runs, one is started. Where it is lost before
an answer came, the call is made once more with the same request id, so that nothing is done twice.
Light: no numpy, no chromadb, no onnxruntime.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from skymem.engine.asking import ASK_SECONDS, Asking
from skymem.engine.dialogue import Dialogue, GoodbyeError, LostError
from skymem.engine.items import COLLECTIONS, Item, parts_of
from skymem.engine.launch import COMMAND, Launcher
from skymem.engine.socket_file import dial
from skymem.engine.wire import PROTOCOL, FrameError, Greeting, pack, raise_error, settings_key
from skymem.errors import EngineUnavailableError, InterruptedRunError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import never_stopped

CHANGE_SECONDS: Final = 300.0
"""Default deadline of a change: encoding a batch of long texts beside other work takes a while."""

PAUSE_SECONDS: Final = (0.01, 0.05)
"""Between two looks whether the engine takes a connection: at first, and in the end."""

DEATHS_MAX: Final = 5
"""Engines that may die before they greet, in one call."""

SENT_AWAY_MAX: Final = 3
"""Engines sent away in a row for being old, before it must be what is installed that is old."""


class Engine(Asking):
    """The engine of one home, as its callers see it. For several threads; survives a fork.

    `stop` is looked at while waiting. With `start=False` no engine is started; where `elsewhere`
    says that it has asked somebody else to start one, that one is waited for.

    Every call raises:
        EngineUnavailableError: no engine, no model, or no answer by the deadline.
        BusyError: too many requests wait already.
        DiskError: no room, or a disk that fails.
        InterruptedRunError: `stop` named a signal while waiting.
    """

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        rules: EngineRules,
        *,
        stop: Callable[[], str] = never_stopped,
        start: bool = True,
        command: Sequence[str] = COMMAND,
        elsewhere: Callable[[], bool] = lambda: False,
    ) -> None:
        self._paths = paths
        self._settings_key = settings_key(rules)
        self._stop = stop
        self._start = start
        self._launcher = Launcher(paths, files, stop, command, elsewhere)
        self._lock = threading.Lock()
        self._dialogue: Dialogue | None = None
        self._pid = os.getpid()
        self._version = ""
        self._sent_away = 0

    # -- what can be asked ----------------------------------------------------------------------

    def put(
        self,
        agent: str,
        collection: str,
        items: Sequence[Item],
        *,
        deadline_seconds: float = CHANGE_SECONDS,
    ) -> dict[str, Any]:
        """Embed and keep items; `embedded`, `cached`, `done`, `epoch`. Durable on return."""
        deadline = time.monotonic() + deadline_seconds
        results = []
        for part in parts_of(items):
            arguments = {"agent": agent, "collection": collection, "items": part}
            results.append(self._call("put", arguments, deadline - time.monotonic()))
        return {
            **results[-1],
            "embedded": sum(each["embedded"] for each in results),
            "cached": sum(each["cached"] for each in results),
            "done": [done for each in results for done in each["done"]],
        }

    def drop(self, agent: str, ids: Sequence[str]) -> dict[str, Any]:
        """Take memories out of the index; `dropped`."""
        return self._call("drop", {"agent": agent, "ids": [*ids]}, CHANGE_SECONDS)

    def missing(
        self, agent: str, collection: str, items: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        """Which of these (id, digest) the index lacks; `missing`, `epoch`."""
        arguments = {"agent": agent, "collection": collection, "items": [[*each] for each in items]}
        return self._call("missing", arguments, ASK_SECONDS)

    def ids(
        self,
        agent: str,
        collection: str,
        after: str = "",
        limit: int = 10_000,
        *,
        deadline_seconds: float = ASK_SECONDS,
    ) -> dict[str, Any]:
        """Ids after `after` in their order, at most `limit`; `ids`, `epoch`."""
        arguments = {"agent": agent, "collection": collection, "after": after, "limit": limit}
        return self._call("ids", arguments, deadline_seconds)

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = COLLECTIONS,
        also: Sequence[str] = (),
        *,
        deadline_seconds: float = ASK_SECONDS,
    ) -> dict[str, Any]:
        """The nearest by meaning, best first; `hits`, `also`, `degraded`, `epoch`, `indexed`.

        With a limit of 0 nothing is searched for: only those of `also` are compared.
        """
        arguments = {
            "agent": agent,
            "text": text,
            "limit": limit,
            "collections": [*collections],
            "also": [*also],
        }
        return self._call("query", arguments, deadline_seconds)

    def stats(self, agent: str, sample: int) -> dict[str, Any]:
        """What should be in the index beside what is, and how many of `sample` find themselves."""
        return self._call("stats", {"agent": agent, "sample": sample}, CHANGE_SECONDS)

    def rebuild(self, agent: str) -> dict[str, Any]:
        """Begin a new generation of the agent's index, made in the background."""
        return self._call("rebuild", {"agent": agent}, CHANGE_SECONDS)

    def purge(self, agent: str) -> dict[str, Any]:
        """Keep no vector that no memory needs, in cache or index; the latter is made anew."""
        return self._call("purge", {"agent": agent}, CHANGE_SECONDS)

    def exact(self, agent: str, text: str, limit: int) -> dict[str, Any]:
        """The nearest by comparing with every vector, best first; `hits`."""
        return self._call("exact", {"agent": agent, "text": text, "limit": limit}, ASK_SECONDS)

    def follow(self) -> dict[str, Any]:
        """Have it look which model is in use; `setting`, `model`, `model_key` of who answers."""
        return self._call("follow", {}, CHANGE_SECONDS)

    def overview(self, *, deadline_seconds: float = ASK_SECONDS) -> dict[str, Any]:
        """What the engine is, does and has; answered while it is busy, too."""
        return self._call("overview", {}, deadline_seconds)

    def leave(self, *, deadline_seconds: float = ASK_SECONDS) -> None:
        """Ask a running engine to leave once what it has in hand is done; does not wait for it."""
        self._forget_what_a_parent_had()
        with self._lock:
            self._hang_up()
            dialogue = self._dial()
            if dialogue is None:
                return
            try:
                frame = pack({"id": "leave", "op": "leave"})
                dialogue.ask(frame, time.monotonic() + deadline_seconds)
            except (GoodbyeError, LostError):
                return  # it leaves already
            finally:
                dialogue.close()

    def running(self) -> bool:
        """Whether an engine answers now: the one that is connected, if any, else any."""
        if self._pid == os.getpid() and self._dialogue is not None and self._dialogue.is_open():
            return True
        dialogue = self._dial()
        if dialogue is None:
            return False
        dialogue.close()
        return True

    def hangs(self, *, deadline_seconds: float) -> bool:
        """Whether one takes connections, and then says no word in time.

        It is asked nothing, but told what is no greeting: that keeps no idle one from leaving.
        """
        dialogue = self._dial()
        if dialogue is None:
            return False
        try:
            dialogue.ask(pack({"op": "hangs"}), time.monotonic() + deadline_seconds)
        except (GoodbyeError, LostError, FrameError):
            return False  # it leaves, or is another's to judge
        except EngineUnavailableError:
            return True
        finally:
            dialogue.close()
        return False

    def close(self) -> None:
        """Close the connection; the next call makes a new one."""
        self._forget_what_a_parent_had()
        with self._lock:
            self._hang_up()

    # -- how it is asked ------------------------------------------------------------------------

    def _call(
        self, name: str, arguments: dict[str, Any], deadline_seconds: float
    ) -> dict[str, Any]:
        self._forget_what_a_parent_had()
        deadline = time.monotonic() + deadline_seconds
        request_id = os.urandom(12).hex()
        if not self._lock.acquire(timeout=max(0.0, deadline_seconds)):
            raise EngineUnavailableError("another thread's call takes until the deadline")
        try:
            answer = self._ask(
                {"id": request_id, "op": name, "args": arguments}, deadline, retries=1
            )
        finally:
            self._lock.release()
        raise_error(answer)
        result: dict[str, Any] = answer.get("result") or {}
        return result

    def _ask(self, request: dict[str, Any], deadline: float, *, retries: int) -> dict[str, Any]:
        while True:
            if time.monotonic() >= deadline:
                raise EngineUnavailableError("no answer by the deadline")
            dialogue = self._connected(deadline)
            try:
                frame = pack({**request, "deadline_s": deadline - time.monotonic()})
                return dialogue.ask(frame, deadline)
            except GoodbyeError:  # it was leaving and did not begin this one: ask the next
                self._hang_up()
            except LostError as error:
                self._hang_up()
                if not retries:
                    raise EngineUnavailableError("it died twice during this call") from error
                retries -= 1
            except FrameError as error:
                self._hang_up()
                raise EngineUnavailableError(str(error)) from error
            except (EngineUnavailableError, InterruptedRunError):
                self._hang_up()  # an answer may still come: it must not be taken for the next one's
                raise

    def _connected(self, deadline: float) -> Dialogue:
        """The kept connection, or a new one to an engine of our release and settings."""
        if self._dialogue is not None:
            return self._dialogue
        pause, longest = PAUSE_SECONDS
        deaths = 0
        while True:
            dialogue = self._dial()
            try:
                if dialogue is not None and self._greeted(dialogue, deadline):
                    self._dialogue = dialogue
                    return dialogue
            except LostError as error:
                deaths += 1
                if deaths > DEATHS_MAX:
                    raise EngineUnavailableError("it dies as soon as it is asked") from error
            if not self._start:
                raise EngineUnavailableError("it is not running")
            if self._launcher.lock_is_free():
                self._launcher.ensure(deadline)
                continue
            self._launcher.sleep(pause, deadline)
            pause = min(pause * 1.5, longest)

    def _greeted(self, dialogue: Dialogue, deadline: float) -> bool:
        """Exchange greetings; False where this engine goes, or was asked to, for a new one.

        Raises:
            LostError: it died, or closed in our face.
            EngineUnavailableError: it is of a newer release than this process, or may not be
                replaced by it.
        """
        ours = Greeting(PROTOCOL, self._version or own_version(), self._settings_key)
        fits = False
        try:
            theirs = self._greeting_of(dialogue, ours, deadline)
            fits = theirs.age() == ours.age() and (
                theirs.settings == ours.settings or theirs.current
            )
            if not fits:
                self._check_replaceable(theirs, ours)
                self._sent_away += 1
                dialogue.ask(pack({"id": "leave", "op": "leave"}), deadline)
        except GoodbyeError:
            fits = False
        finally:
            if not fits:
                dialogue.close()
        self._sent_away = 0 if fits else self._sent_away
        return fits

    def _greeting_of(self, dialogue: Dialogue, ours: Greeting, deadline: float) -> Greeting:
        frame = dialogue.ask(ours.frame(), deadline)
        raise_error(frame)
        try:
            return Greeting.read(frame)
        except FrameError as error:
            raise EngineUnavailableError(
                f"what answers on its socket is no engine: {error}"
            ) from error

    def _check_replaceable(self, theirs: Greeting, ours: Greeting) -> None:
        if theirs.age() > ours.age():
            raise EngineUnavailableError(
                f"it is of release {theirs.version}, this process still of {ours.version}: "
                "restart this process"
            )
        if self._sent_away >= SENT_AWAY_MAX:
            self._sent_away = 0
            raise EngineUnavailableError(
                f"what is installed is of release {theirs.version}, this process of "
                f"{ours.version}: restart this process"
            )
        if not self._start:
            raise EngineUnavailableError("one of other release or settings is running")

    def _dial(self) -> Dialogue | None:
        if not self._paths.run.is_dir():
            return None
        connection = dial(self._paths.engine_socket)
        if connection is None:
            return None
        dialogue = Dialogue(connection, self._stop)
        dialogue.refuse_strangers(self._paths.root)
        return dialogue

    def _hang_up(self) -> None:
        if self._dialogue is not None:
            self._dialogue.close()
            self._dialogue = None

    def _forget_what_a_parent_had(self) -> None:
        """After a fork: on the parent's connection each would get the other's answers."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = threading.Lock()  # a thread that is not here may have held it
            if self._dialogue is not None:
                self._dialogue.close()  # our copy of the descriptor alone
                self._dialogue = None


@cache
def own_version() -> str:
    """Of which release this process is; looked up once, as that costs more than a question."""
    from importlib.metadata import version

    return version("skymem")
