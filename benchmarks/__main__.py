"""Every measurement, one after the other: python -m benchmarks. The soak stands by itself."""

from benchmarks import daemon, idle_run, indexing, promote, recall, remember, status

for measurement in (promote, remember, status, idle_run, daemon, indexing, recall):
    measurement.main()
