"""What `benchmarks.scale` measured, as the tables of docs/scale.md and as its curves.

Run: python -m benchmarks.scale_page JSON FILE.svg   (drawing needs matplotlib, the extra `bench`)
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUN = Path(__file__).resolve().parent.parent / "docs" / "scale.json"
"""The run that the page tells of."""

LOOKS = {
    "first reading": ("#000000", "x"),
    "promote, nothing new": ("#0072B2", "o"),
    "prune, nothing new": ("#56B4E9", "v"),
    "status": ("#009E73", "^"),
    "recall": ("#E69F00", "s"),
    "fsck": ("#D55E00", "D"),
    "forget one": ("#CC79A7", "P"),
}
"""Colours that colour-blind people tell apart (Okabe and Ito); marks that print tells apart."""

SIDES = {"memories": "memories of one agent", "agents": "agents, a hundred memories each"}
SHOWN = {"cpu_s": "seconds of processor", "rss_mb": "peak of memory, MB"}

Figures = Mapping[str, Any]


def table(side: str, file: Path = RUN) -> str:
    """One row for each operation, one column for each size: seconds of processor, and MB."""
    found = _by_size(json.loads(file.read_text())[side])
    operations = dict.fromkeys(name for one in found.values() for name in one)
    sizes = [f"{int(size):,}" for size in found]
    rows = [[name, *(_cell(one.get(name)) for one in found.values())] for name in operations]
    lines = [[SIDES[side], *sizes], ["---"] * (len(sizes) + 1), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _by_size(found: Figures) -> dict[str, Figures]:
    return {size: found[size] for size in sorted(found, key=int)}


def told(file: Path = RUN) -> str:
    """Of what run the figures are."""
    found: Figures = json.loads(file.read_text())
    return (
        f"Run `{found['run']}`, Python {found['python']}, {found['cores']} cores, "
        f"up to {found['load']:.0f} processes that wanted them.\n"
    )


def _cell(one: Figures | None) -> str:
    if one is None:
        return "–"
    idle = f", idle {one['idle_cpu_percent']:.2g} %" if "idle_cpu_percent" in one else ""
    made = ""
    if "texts_per_s" in one:
        made = f", {one['texts_per_s']:.0f} texts a second of {one['owed']:,} owed"
        made += f", engine {one['engine_rss_mb']:.0f} MB"
    return f"{one['cpu_s']:.2f} s, {one['rss_mb']:.0f} MB{idle}{made}"


def said(file: Path = RUN) -> str:
    """What recall said of how much has no vector, at the largest size."""
    largest = [*_by_size(json.loads(file.read_text())["memories"]).values()][-1]
    return "".join(
        f"- {row}: “{words}”\n" for row, one in largest.items() for words in one.get("said", ())
    )


def draw(found: Figures, file: Path) -> None:
    """Draw work and memory of the main operations against what is stored."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "scale"  # the same figures make the same file
    from matplotlib import pyplot as plt

    figure, all_axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for row, (what, words) in zip(all_axes, SHOWN.items(), strict=True):
        for axes, (side, label) in zip(row, SIDES.items(), strict=True):
            for name, (colour, mark) in LOOKS.items():
                points = [
                    (int(size), one[name][what]) for size, one in found[side].items() if name in one
                ]
                if points:
                    axes.plot(*zip(*points, strict=True), marker=mark, color=colour, label=name)
            axes.set(xscale="log", yscale="log", xlabel=label, ylabel=words)
            axes.grid(visible=True, which="major", color="#dddddd")
    all_axes[0][0].legend(fontsize=8, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, format="svg", metadata={"Date": None, "Title": found["run"]})


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
