"""`skymem merge --audit N`: a person, or a file, says of past merges whether they were right."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skymem.cli import render
from skymem.cli.options import Globals
from skymem.errors import UsageError
from skymem.policy.merge_audit import DIFFERENT, EXAMPLE, SAME, Merged

if TYPE_CHECKING:
    from skymem.merge_auditing import Audit

ANSWERS = {"y": SAME, "yes": SAME, "n": DIFFERENT, "no": DIFFERENT}
WRONG_SHOWN = 10


def audit(spoken: Globals, most: int, labels: Path | None, *, seed: int, as_json: bool) -> None:
    """Sample past merges, have them judged, and tell how many were wrong.

    Raises:
        UsageError: there is nobody to ask and no file; or a line of it is no label.
    """
    from skymem.merge_auditing import open_audit

    agent = spoken.bound_agent()
    found = open_audit(spoken.open(), agent)
    sampled: list[Merged] = []
    if labels is not None:
        found.answer(found.labels(labels, most, seed))
    else:
        sampled = found.to_ask(most, seed)
        if sampled and not as_json:
            _ask_about(found, sampled)
    told = found.figures()
    if as_json:
        asked = {"to_judge": [one._asdict() for one in sampled]} if sampled else {}
        render.document(told | asked)
        return
    _tell(told)


def _ask_about(found: "Audit", sampled: list[Merged]) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask on: --json names what is to be judged, and --labels FILE "
            f"takes what was said of it, a line each, such as {EXAMPLE}"
        )
    for number, one in enumerate(sampled, 1):
        texts = found.merges[one]
        render.line(f"{number} of {len(sampled)}")
        render.paragraph(f"{one.merged[: render.ID_LETTERS]}  “{texts.merged}”", 2)
        render.paragraph(f"{one.into[: render.ID_LETTERS]}  “{texts.into}”", 2)
        verdict = _asked()
        if verdict is None:
            return
        if verdict:
            found.answer({one: verdict})


def _asked() -> str | None:
    """What is said: a verdict, "" for none, None when it is enough."""
    while True:
        render.line("Do both say the same? y(es), n(o), s(kip), q(uit)")
        said = sys.stdin.readline()
        word = said.strip().lower()
        if not said or word in ("q", "quit"):
            return None
        if word in ("s", "skip"):
            return ""
        if word in ANSWERS:
            return ANSWERS[word]


def _tell(told: dict[str, Any]) -> None:
    merges, judged = told["merges"], told["judged"]
    render.line(
        f"{told['agent']}: {merges:,} merges of texts that differ, and {told['copies']:,} copies; "
        f"{judged:,} judged, {told['left']:,} left"
    )
    if not judged:
        return
    least, most = told["interval"]
    render.line(
        f"wrong: {told['different']:,} of {judged:,} ({told['rate']:.1%}); with "
        f"{told['level']:.0%} certainty between {least:.1%} and {most:.1%}"
    )
    for one in told["wrong"][:WRONG_SHOWN]:
        into = one["into"]
        render.paragraph(f"{one['merged']} is part of {into}; see: skymem explain {into}", 2)
