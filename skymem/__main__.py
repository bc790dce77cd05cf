"""`python -m skymem`, and the entry point of the `skymem` command."""

import sys

try:
    from skymem.cli.entry import main
except KeyboardInterrupt:  # as in `main` itself
    sys.exit(130)

if __name__ == "__main__":
    main()
