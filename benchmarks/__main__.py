"""Every measurement beside its floor, one after the other: python -m benchmarks.

README shows what one run printed (`python -m benchmarks | tee benchmarks/figures.txt`). The soak,
the fault sweeps, the quality of recall and the scale of a million stand by themselves.
"""

import os
import time

from benchmarks import (
    daemon,
    idle_run,
    indexing,
    promote,
    recall_speed,
    remember,
    simulate,
    status,
    working,
)

RECALL_SIZES = ("1000", "10000", "100000")

print(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {os.cpu_count()} cores", flush=True)
for measurement in (promote, remember, working, status, idle_run, daemon, indexing):
    measurement.main()
recall_speed.main(RECALL_SIZES)
simulate.main()
print(f"load at the end {os.getloadavg()[0]:.1f}")
