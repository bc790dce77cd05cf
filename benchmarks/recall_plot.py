"""Draws how recall's time grows with its memories; needs matplotlib, the extra `bench`.

Run: python -m benchmarks.recall_plot FILE.svg JSON…   (what `recall_speed.py --json` printed)
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOOKS = {
    "deterministic": ("#0072B2", "o"),
    "semantic": ("#E69F00", "s"),
    "hybrid": ("#009E73", "^"),
    "fusion": ("#CC79A7", "D"),
}
"""Colours that colour-blind people tell apart (Okabe and Ito); marks that print tells apart."""


def draw(found: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw p50 as a line, p99 as a dashed one, and the floor, against the number of memories."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "recall_speed"  # the same figures make the same file
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for mode, (colour, mark) in LOOKS.items():
        of_mode = [one for one in found if mode in one["warm"]]
        sizes = [one["memories"] for one in of_mode]
        for which, style in (("p50_ms", "-"), ("p99_ms", "--")):
            axes.plot(
                sizes,
                [one["warm"][mode][which] for one in of_mode],
                style,
                color=colour,
                marker=mark,
                markersize=5,
                label=f"{mode}, {which[:3]}",
            )
    floors = [one for one in found if one["floor_ms"] is not None]
    axes.plot(
        [one["memories"] for one in floors],
        [one["floor_ms"] for one in floors],
        ":",
        color="black",
        label="a Chroma query and one encode, p50",
    )
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="milliseconds, warm")
    axes.grid(visible=True, which="major", color="#dddddd")
    axes.legend(fontsize=8, ncols=2, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, format="svg", metadata={"Date": None})


def main() -> None:
    """Draw the sizes of all runs in one; of a size that was measured twice, the last."""
    drawn, *runs = sys.argv[1:]
    sizes = {one["memories"]: one for run in runs for one in json.loads(Path(run).read_text())}
    draw([sizes[count] for count in sorted(sizes)], Path(drawn))


if __name__ == "__main__":
    main()
