"""`python -m skymem`, and the entry point of the `skymem` command."""

from skymem.cli.entry import main

if __name__ == "__main__":
    main()
