"""A machine to install the units on: systemd booted in namespaces, on this one's files."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.systemd.units import ROOT, SYSTEM

NAMESPACES: Final = ("--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup")
SYSTEMD: Final = Path("/lib/systemd/systemd")
PYTHON: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"

PREPARE: Final = """
mkdir -p var/lib/prometheus/node-exporter

# The virtual environment of docs/install.md, made of the one that runs the tests.
venv=opt/skymem/.venv
mkdir -p $venv/bin $venv/lib/{python}/site-packages opt/skymem/code opt/skymem/packages opt/python
mkdir -p $venv/share/skymem && cp -r {units} $venv/share/skymem/
mount --bind {code} opt/skymem/code && mount -o remount,bind,ro opt/skymem/code
mount --bind {packages} opt/skymem/packages && mount -o remount,bind,ro opt/skymem/packages
mount --bind {base} opt/python && mount -o remount,bind,ro opt/python
printf '/opt/skymem/code\\n/opt/skymem/packages\\n' >$venv/lib/{python}/site-packages/all.pth
printf 'home = /opt/python/bin\\n' >$venv/pyvenv.cfg
ln -s /opt/python/bin/{python} $venv/bin/python
mkdir -p etc/ld.so.conf.d
echo /opt/python/lib >etc/ld.so.conf.d/skymem-test.conf
chroot . ldconfig
printf '#!/opt/skymem/.venv/bin/python\\n%s\\n' \
  'import sys; from skymem.__main__ import main; sys.exit(main())' >$venv/bin/skymem
chmod 755 $venv/bin/skymem
"""


class Machine:
    """A booted systemd; `run` is a shell on it."""

    def __init__(self, place: Path) -> None:
        """Boot on `place`, an empty directory, which must outlive the machine."""
        self._cgroup = _cgroup_of_its_own()
        (place / "prepare").write_text(
            PREPARE.format(
                units=SYSTEM.parent,
                code=ROOT,
                packages=sysconfig.get_path("purelib"),
                base=sys.base_prefix,
                python=PYTHON,
            )
        )
        boot = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--propagation", "private"]
        boot += ["sh", str(Path(__file__).with_name("boot.sh")), str(place), str(place / "prepare")]
        enter = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        self._log = place / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", enter, str(self._cgroup), *boot],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_until_up(self) -> None:
        """Wait for the end of the boot; skips where no systemd can be booted."""
        try:
            self.wait_for(lambda: self._told("systemctl is-active up.target") == "active\n")
        except AssertionError:
            self.close()
            pytest.skip(f"no systemd can be booted here: {self._log.read_text()[-300:]}")

    def run(self, script: str, *, user: str = "root", check: bool = True) -> str:
        """Run a shell script inside; its output and errors."""
        done = self._enter(script, user)
        if check and done.returncode:
            pytest.fail(f"{script}: {done.returncode}\n{done.stdout}\n{self._last_lines()}")
        return done.stdout

    def code(self, script: str, *, user: str = "root") -> int:
        """Run a shell script inside; its exit code."""
        return self._enter(script, user).returncode

    def show(self, name: str, unit: str = "skymem") -> str:
        """A property of a unit."""
        return self.run(f"systemctl show --value -p {name} {unit}").strip()

    def journal(self) -> str:
        """What the journal has of the unit, as one line of JSON an entry."""
        return self._told("journalctl -u skymem --no-pager -o json")

    def wait_for(self, what: Callable[[], Any], *, seconds: float = 30) -> Any:
        """Wait until `what` gives something true, and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            if found := what():
                return found
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds} s\n{self._last_lines()}")

    def close(self) -> None:
        """End everything on it, and take its cgroup away."""
        if first := self._first_process():
            with suppress(ProcessLookupError):
                os.kill(int(first), signal.SIGKILL)
        self._process.wait(30)
        for directory, _, _ in os.walk(self._cgroup, topdown=False):
            os.rmdir(directory)

    def _enter(self, script: str, user: str) -> subprocess.CompletedProcess[str]:
        first = self._first_process()
        inside = ["nsenter", "-t", first or "0", "-m", "-p", "-n", "-i", "-u", "-C", "-r", "-w"]
        inside += ["env", "-i", "PATH=/opt/skymem/.venv/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        inside += ["LANG=C.UTF-8", "runuser", "-u", user, "--", "sh", "-c", f"cd /; {script}"]
        return subprocess.run(
            inside,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _last_lines(self) -> str:
        return self._told("journalctl -u skymem --no-pager -o cat -n 20")

    def _told(self, script: str) -> str:
        return self._enter(script, "root").stdout

    def _first_process(self) -> str:
        """The number of the first process inside, as it is seen from here; "" while there is none.

        Raises nothing: a machine that could not boot has none.
        """
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        try:
            return children.read_text().split()[0]
        except (OSError, IndexError):
            return ""


def _cgroup_of_its_own() -> Path:
    """A cgroup that systemd inside takes for all there is."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            own = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
            made = Path(where) / own.lstrip("/") / f"skymem-test-{os.getpid()}"
            try:
                made.mkdir()
            except OSError as error:
                pytest.skip(f"no cgroup can be made here: {error}")
            return made
    pytest.skip("no cgroup2 is mounted")


def why_not() -> str:
    """Why nothing can be booted here, "" where it may be."""
    if os.geteuid():
        return "needs root"
    if not SYSTEMD.exists() or not shutil.which("nsenter"):
        return "needs systemd and nsenter"
    if subprocess.call(["unshare", *NAMESPACES, "--fork", "true"]):
        return "namespaces may not be made here"
    return ""
