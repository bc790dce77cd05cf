"""A process that keeps a home, as `skymem run` will: `driver.py keep|once HOME SCHEDULE [flags]`.

SCHEDULE is JSON: `[{"name": …, "seconds": …, "job": …, "timeout": …}]`. The runs are `runs.py`'s.
"""

import ctypes
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from skymem.daemon.service import Setting, exit_code_of, serve, serve_once
from skymem.errors import SkymemError
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
    )
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
