"""`python -m skymem`, and the entry point of the `skymem` command."""

import sys


def main() -> None:
    """Run a command line; a prompt's hook without loading the rest, where that can be."""
    try:
        if sys.argv[-1] == "prompt":
            from skymem.hooks import quick

            if quick.main(sys.argv[1:]):
                return
        from skymem.cli.entry import main as whole
    except KeyboardInterrupt:  # as in `main` itself
        sys.exit(130)
    whole()


if __name__ == "__main__":
    main()
