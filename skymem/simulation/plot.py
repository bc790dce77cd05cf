"""A sweep as a picture: bars of letters for a terminal, and a file where matplotlib is there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from skymem.errors import UsageError
from skymem.simulation.comparing import Comparison

WIDTH: Final = 40
SUFFIXES: Final = (".png", ".svg", ".pdf")


def bars(points: Sequence[tuple[float, Comparison]]) -> Iterator[str]:
    """Lines of text: what is promoted at each value, and what would be missed."""
    most = max((one.new.did["promoted"] for _, one in points), default=0) or 1
    missed = max((one.regretted() for _, one in points), default=0) or 1
    for value, one in points:
        promoted, regretted = one.new.did["promoted"], one.regretted()
        yield (
            f"{value:>8g}  {'█' * round(WIDTH * promoted / most):<{WIDTH}} {promoted:>7,}  "
            f"{'░' * round(WIDTH / 2 * regretted / missed)} {regretted:,}"
        )


def check_plot(path: Path) -> None:
    """See that a picture can be drawn there, before anything takes its time.

    Raises:
        UsageError: of what it would be drawn with, or as, nothing is known.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--plot {path.name!r:.60}: a name ending in {', '.join(SUFFIXES)}")
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError(
            "--plot FILE needs matplotlib, which is not installed: pip install matplotlib"
        ) from None
    mpl.use("Agg")


def draw(path: Path, key: str, points: Sequence[tuple[float, Comparison]]) -> None:
    """Draw what each value promotes, archives and removes, and what would be missed.

    Raises:
        OSError: it can't be written.
    """
    from matplotlib import pyplot as plt

    values = [value for value, _ in points]
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for word in ("promoted", "archived", "trashed"):
        axes.plot(values, [one.new.did[word] for _, one in points], marker="o", label=word)
    missed = [one.regretted() for _, one in points]
    axes.plot(values, missed, marker="x", linestyle="--", label="recalled later, missed")
    axes.set_xlabel(key)
    axes.set_ylabel("memories")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
