"""A process that keeps a home, as `skymem run` will: `driver.py keep|once HOME SCHEDULE [flags]`.

SCHEDULE is JSON: `[{"name": …, "seconds": …, "job": …, "timeout": …}]`. The runs are `child.py`'s.
A reload reads `HOME/schedule.json` in the same form.
"""

import ctypes
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from skymem.daemon.service import exit_code_of, serve, serve_once
from skymem.daemon.setting import Setting
from skymem.daemon.stop import Stop
from skymem.daemon.timing import Timer
from skymem.errors import ConfigurationError, SkymemError
from skymem.model.schedule import Every, Schedule, ScheduleEntry
from skymem.stores.files import Files
from skymem.stores.home import HomePaths


def entry(described: dict[str, Any]) -> ScheduleEntry:
    return ScheduleEntry(
        described["name"],
        described.get("job", "promote"),
        Every(described.get("seconds", 3600)),
        timeout_seconds=described.get("timeout", 60),
        enabled=described.get("enabled", True),
    )


def reread(home: str, zone: str) -> Schedule:
    path = Path(home) / "schedule.json"
    try:
        return Schedule(tuple(entry(each) for each in json.loads(path.read_text())), zone)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"schedule.json:1:1: {error}") from None


def hang_the_scheduler(home: str) -> None:
    """Keep APScheduler's thread waiting for its own lock, once `HOME/hang` is there."""
    while not (Path(home) / "hang").exists():
        time.sleep(0.02)
    timer = next(one for one in gc.get_objects() if isinstance(one, Timer))
    timer._passes.acquire()
    time.sleep(3600)


def kill_the_scheduler_soon() -> None:
    """Raise SystemExit in APScheduler's thread, at its next step in Python."""
    time.sleep(0.5)
    for thread in threading.enumerate():
        if thread.name == "APScheduler" and thread.ident is not None:
            number = ctypes.c_ulong(thread.ident)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(SystemExit))


def main(verb: str, home: str, schedule: str, *flags: str) -> int:
    setting = Setting(
        paths=HomePaths(Path(home)),
        files=Files(),
        schedule=Schedule(tuple(entry(each) for each in json.loads(schedule))),
        clock=time.time,
        command=[sys.executable, "-S", str(Path(__file__).with_name("child.py")), home],
        version="0.0-test",
        first_run_seconds=1.0,
        reread=lambda: reread(home, "UTC"),
        environment=os.environ,
        stop=Stop(grace_seconds=0.5, hard_seconds=1) if "--short-grace" in flags else Stop(),
    )
    if "--hang-scheduler" in flags:
        threading.Thread(target=hang_the_scheduler, args=[home], daemon=True).start()
    if "--kill-scheduler" in flags:
        threading.Thread(target=kill_the_scheduler_soon, daemon=True).start()
    try:
        if verb == "keep":
            return serve(setting, catch_up="--no-catch-up" not in flags)
        results = serve_once(setting)
        shown = [{"name": each.name, "ok": each.ok, "exit": each.exit_code} for each in results]
        sys.stdout.write(json.dumps(shown))
        return exit_code_of(results)
    except SkymemError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
