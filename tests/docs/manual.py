"""The man page and the completions: `python -m tests.docs.manual` writes them into `docs/`.

They are kept there, as they lie in the wheel, so that building one needs no dependency of ours.
"""

from pathlib import Path
from typing import Final

from tests.docs.bash_completion import bash
from tests.docs.fish_completion import fish
from tests.docs.man_page import man_page
from tests.docs.zsh_completion import zsh

ROOT: Final = Path(__file__).resolve().parents[2]
FILES: Final = {
    "docs/man/skymem.1": man_page,
    "docs/completions/skymem.bash": bash,
    "docs/completions/_skymem": zsh,
    "docs/completions/skymem.fish": fish,
}
"""Each with what makes it."""


def main() -> None:
    """Write all of them."""
    for name, make in FILES.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(make())


if __name__ == "__main__":
    main()
