"""Every measurement, one after the other: python -m benchmarks."""

from benchmarks import daemon, idle_run, promote, remember, status

for measurement in (promote, remember, status, idle_run, daemon):
    measurement.main()
