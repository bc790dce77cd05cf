"""The fault sweeps whole, where CI samples them: every system call, every state of a power cut.

Run: python -m benchmarks.faults [--sample]

Prints a table of what was injected, by kind. Each fault is followed by the next run of the program
and by a look at every memory; a sweep that finds one lost or doubled fails, and its name is told.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.faults.tally import VARIABLE

SWEEPS: Final = (
    "tests/faults",
    "tests/jobs/test_fsck.py",
    "tests/jobs/test_share.py",
    "tests/stores/test_ledger_chain.py",
    "tests/machine",
)
"""Where faults are injected one after the other."""


def table(injected: Counter[str], report: Path) -> str:
    """Say what was injected, and how many sweeps found something lost or doubled.

    Args:
        injected: how often each kind was.
        report: what pytest wrote of the sweeps, as JUnit's XML.
    """
    suite = next(ET.parse(report).getroot().iter("testsuite"))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    rows = [f"| {kind} | {count:,} |" for kind, count in sorted(injected.items())]
    heading = (
        f"{injected.total():,} faults in {suite.get('tests')} sweeps; "
        f"sweeps that found a memory lost or doubled: {failed}"
    )
    return "\n".join([heading, "", "| fault | times |", "|---|--:|", *rows])


def main() -> None:
    """Run the sweeps, without leaving out a step or as CI does; ends as pytest ends."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--sample", action="store_true", help="what CI tries, in some minutes")
    every = {} if parser.parse_args().sample else {"SKYMEM_FAULTS": "all"}
    with tempfile.TemporaryDirectory() as scratch:
        counted = Path(scratch, "tally")
        counted.touch()
        report = Path(scratch, "report.xml")
        options = ["-q", "--timeout=3600", f"--junit-xml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *SWEEPS]
        environment = {**os.environ, **every, VARIABLE: str(counted)}
        done = subprocess.run(command, check=False, env=environment)
        print(table(Counter(counted.read_text().splitlines()), report))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
