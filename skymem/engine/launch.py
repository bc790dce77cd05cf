"""Starting the engine on demand: detached, with a clean environment, once for many who ask.

Who starts one holds `run/engine-start.lock` until it listens, so that ten clients at once make
one process and not ten. Light, as the client uses it.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from skymem.engine.settings import LOG_BYTES_MAX, clean_environment
from skymem.engine.socket_file import dial
from skymem.errors import BusyError, EngineUnavailableError, HomeNotFoundError, InterruptedRunError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, holder_of

COMMAND: Final = (sys.executable, "-P", "-m", "skymem.engine")
"""`-P`: where the caller happens to stand must not decide what is imported."""

START_SECONDS: Final = 15.0
QUOTED_MAX: Final = 300
TICK_SECONDS: Final = 0.01


class Launcher:
    """Starts the engine of one home."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        stop: Callable[[], str],
        command: Sequence[str] = COMMAND,
        elsewhere: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start with `command`, unless `elsewhere` says that it has asked somebody else to."""
        self._elsewhere = elsewhere
        self._paths = paths
        self._files = files
        self._stop = stop
        self._command = command

    def lock_is_free(self) -> bool:
        """Whether no engine has the home: none runs, starts or is on its way out."""
        return not holder_of(self._paths.engine_lock)

    def ensure(self, deadline: float) -> None:
        """Return once an engine has the home, by `deadline` on the monotonic clock.

        Raises:
            EngineUnavailableError: it does not start; says the last line of its log.
            InterruptedRunError: a signal came while waiting.
        """
        if not self._paths.root.is_dir():
            raise HomeNotFoundError(str(self._paths.root))
        if self.lock_is_free() and self._elsewhere():
            self._wait_for_another(deadline)
            return
        self._files.make_directory(self._paths.run)
        self._files.make_directory(self._paths.rag)  # here, where the home's modes are known
        try:
            with held(
                self._paths.run / "engine-start.lock",
                "starting the engine",
                deadline_seconds=deadline - time.monotonic(),
                stop=self._stop,
            ):
                if self.lock_is_free() and not self._answers():
                    self._start(min(deadline, time.monotonic() + START_SECONDS))
        except BusyError as error:
            raise EngineUnavailableError("another process is still starting it") from error

    def _wait_for_another(self, deadline: float) -> None:
        """Wait until the one that was asked for has the home."""
        until = min(deadline, time.monotonic() + START_SECONDS)
        while self.lock_is_free():
            if name := self._stop():
                raise InterruptedRunError(name)
            if time.monotonic() >= until:
                said = last_line(self._paths.engine_log)
                raise EngineUnavailableError(f"the daemon was asked for it and has none: {said}")
            time.sleep(TICK_SECONDS)

    def sleep(self, seconds: float, deadline: float) -> None:
        """Wait a little for an engine that has the home and takes no connection yet, or any more.

        Raises:
            EngineUnavailableError: the deadline has come.
            InterruptedRunError: a signal came.
        """
        if name := self._stop():
            raise InterruptedRunError(name)
        if time.monotonic() >= deadline:
            holder = holder_of(self._paths.engine_lock) or "nobody"
            raise EngineUnavailableError(f"{holder} has the home, but takes no call")
        time.sleep(seconds)

    def _answers(self) -> bool:
        connection = dial(self._paths.engine_socket)
        if connection is not None:
            connection.close()
        return connection is not None

    def _start(self, deadline: float) -> None:
        with disk_errors(self._paths.engine_log):
            log = _open_log(self._paths.engine_log)
        try:
            process = subprocess.Popen(
                [*self._command, "--detach", str(self._paths.root.absolute())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                env=engine_environment(self._token_variable()),
                start_new_session=True,  # Ctrl-C at the caller's terminal is not meant for it
            )
        except OSError as error:
            raise EngineUnavailableError(f"it can't be started: {error.strerror}") from error
        finally:
            os.close(log)
        code = self._wait(process, deadline)
        if code:
            raise EngineUnavailableError(
                f"it ended at its start with {code}: {last_line(self._paths.engine_log)}"
            )

    def _token_variable(self) -> str:
        """The variable that holds the token of a Chroma server, if one is to be asked."""
        from skymem.config.rules_file import examine_rules

        remote = examine_rules(self._paths.rules).rules.engine.remote
        return (remote.token_env if remote is not None else None) or ""

    def _wait(self, process: subprocess.Popen[bytes], deadline: float) -> int:
        """Wait for the process in front, which ends when the engine listens or has failed."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(TICK_SECONDS)
            name = self._stop()
            if name or time.monotonic() >= deadline:
                process.kill()  # the one in front; the engine, should it come up, leaves when idle
                process.wait()
                if name:
                    raise InterruptedRunError(name)
                raise EngineUnavailableError(
                    f"it did not start in time: {last_line(self._paths.engine_log)}"
                )


def engine_environment(token: str = "") -> dict[str, str]:
    """The environment an engine starts in, with the variable `token` of the caller's."""
    environment = clean_environment(os.environ, token)
    package_parent = str(Path(__file__).resolve().parents[2])
    if os.path.basename(package_parent) not in {"site-packages", "dist-packages"}:
        # A checkout that is not installed: the engine must be of the same code.
        more = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([package_parent, *([more] if more else [])])
    return environment


def last_line(log: Path) -> str:
    """The last thing the engine said, or that it said nothing."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 64 * 1024))
            lines = stream.read().decode(errors="replace").split("\n")
    except OSError:
        return f"and {log} can't be read"
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:QUOTED_MAX] if said else "it said nothing"


def _open_log(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    log = os.open(path, flags, 0o600)
    if os.fstat(log).st_size > LOG_BYTES_MAX:
        os.ftruncate(log, 0)
    return log
