"""What a scheduled run starts in these tests: `child.py HOME trigger NAME --scheduled JOB`.

The first word of NAME says how it behaves. It notes its start and end in `HOME/log`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

home, _, name, flag, _job = sys.argv[1:]
behaviour, _, argument = name.partition("_")


def note(what: str) -> None:
    with open(Path(home) / "log", "a", encoding="utf-8") as log:
        log.write(f"{what} {name} {os.getpid()} {time.time():.3f}\n")


def tell(detail: dict[str, object]) -> None:
    """Write the status as the real entry point does, and print the detail."""
    from skymem.stores.files import Files
    from skymem.stores.home import HomePaths
    from skymem.stores.status import StatusFiles

    StatusFiles(HomePaths(Path(home)), Files()).write_action(name, detail, time.time())
    sys.stdout.write(json.dumps(detail))


if flag != "--scheduled":
    sys.exit(2)
note("start")
match behaviour:
    case "told":
        tell({"ok": True, "acted": 2, "token": os.environ.get("TOKEN_OF_THE_TEST")})
    case "unwell":
        tell({"ok": False, "error": "the loss budget is reached"})
        sys.exit(21)
    case "exit":
        sys.exit(int(argument))
    case "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    case "sleep":
        time.sleep(float(argument))
    case "late":
        time.sleep(float(argument))
        sys.exit(3)
    case "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen(["sleep", "60"])
        note(f"grandchild={grandchild.pid}")
        time.sleep(60)
    case "chatty":
        sys.stdout.write("x" * 3_000_000)
        sys.stderr.write("a word on stderr\n")
        sys.stdin.read()
    case _:
        pass
note("end")
