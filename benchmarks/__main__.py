"""Every measurement, one after the other: python -m benchmarks. The soak stands by itself."""

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

MEASUREMENTS = [promote, remember, working, status, idle_run, daemon, indexing, recall_speed]

for measurement in (*MEASUREMENTS, simulate):
    measurement.main()
