"""The shipped units, read as text, systemd's own tools for them, and the documented install."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEM = ROOT / "systemd/skymem.service"
SYSTEM_API = ROOT / "systemd/skymem-api.service"
USER = ROOT / "systemd/user/skymem.service"
METRICS = ROOT / "systemd/skymem-metrics.service"
TIMER = METRICS.with_suffix(".timer")
TMPFILES = ROOT / "systemd/tmpfiles.d/skymem.conf"
INSTALL = ROOT / "docs/install.md"
SYSUSERS = ROOT / "systemd/sysusers.d/skymem.conf"


def settings(unit: Path) -> dict[str, list[str]]:
    """Every assignment of a unit, in order; a key may stand there more than once."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def setting(unit: Path, key: str) -> str:
    """The one value of a key."""
    (value,) = settings(unit)[key]
    return value


def seconds(unit: Path, key: str) -> float:
    """A time of the units: `90s`, `2min`."""
    value = setting(unit, key)
    number = value.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * {"s": 1, "min": 60}[value.removeprefix(number)]


def run_tool(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run one of systemd's tools; in CI it must be there."""
    if not shutil.which(str(command[0])):
        if os.environ.get("CI"):
            pytest.fail(f"{command[0]} is missing")
        pytest.skip(f"needs {command[0]}")
    environment = {"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as runtime:
        environment |= {"SYSTEMD_COLORS": "0", "XDG_RUNTIME_DIR": runtime}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def program(unit: Path) -> str:
    """What ExecStart starts, with neither its options nor its verb."""
    return setting(unit, "ExecStart").partition(" ")[0]


def with_a_program_that_is_there(unit: Path, place: Path) -> Path:
    """Write the unit as it is but for the path of `skymem`, which is not installed there."""
    text = unit.read_text()
    assert text.count(program(unit)) == 1, "one line depends on where skymem lies"
    copy = place / unit.name
    copy.write_text(text.replace(program(unit), f"{sys.executable} -m skymem"))
    return copy


def documented(part: int | str) -> str:
    """The commands of a part of docs/install.md, by its number or title, as root gives them."""
    title = re.escape(f"{part}." if isinstance(part, int) else part)
    text = INSTALL.read_text()
    section = re.search(rf"^## {title}.*?(?=^## |\Z)", text, re.M | re.S)
    assert section is not None
    block = re.search(r"^```bash\n(.*?)^```$", section[0], re.M | re.S)
    assert block is not None
    said = block[1].replace("sudo -u skymem ", "runuser -u skymem -- ")
    return "set -e\n" + said.replace("sudo ", "")
