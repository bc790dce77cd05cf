"""Every measurement beside its floor, one after the other: python -m benchmarks [--data DIRECTORY].

README shows what one run printed (`python -m benchmarks --data DIRECTORY | tee
benchmarks/figures.txt`). DIRECTORY is where LoCoMo's `locomo10.json` lies, which is not ours to
ship; without it the quality of recall is not measured, and that is said. The soak, the fault
sweeps and the scale of a million stand by themselves.
"""

import argparse
import os
import time
from pathlib import Path

from benchmarks import (
    daemon,
    idle_run,
    indexing,
    promote,
    recall_goals,
    recall_speed,
    remember,
    simulate,
    status,
    working,
)

RECALL_SIZES = ("1000", "10000", "100000")

reader = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
reader.add_argument("--data", type=Path, metavar="DIRECTORY", help="where locomo10.json lies")
asked = reader.parse_args()
if asked.data is not None and recall_goals.data_in(asked.data) is None:
    reader.error(f"{asked.data}: there is no {recall_goals.FILE}")
print(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores", flush=True)
for measurement in (promote, remember, working, status, idle_run, daemon, indexing):
    measurement.main()
recall_speed.main(RECALL_SIZES)
recall_goals.main(asked.data)
simulate.main()
print(f"load at the end {os.getloadavg()[0]:.1f}")
