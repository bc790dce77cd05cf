"""The fault sweeps whole, where CI samples them: every system call, every state of a power cut.

Run: python -m benchmarks.faults
"""

import os
import subprocess
import sys


def main() -> None:
    """Run the sweeps of tests/faults without leaving out a step; ends as pytest ends."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=3600", "tests/faults"]
    sys.exit(
        subprocess.run(command, check=False, env={**os.environ, "SKYMEM_FAULTS": "all"}).returncode
    )


if __name__ == "__main__":
    main()
