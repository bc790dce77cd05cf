"""The verb about the model of a memory's worth: importance."""

from typing import Annotated, Any, Final

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of
from skymem.policy.prediction import ABOUT

PARTS_SHOWN: Final = 12
"""Of what a prediction is made of; `--json` has all."""

_ROWS: Final = (
    ("model", "this model"),
    ("text", "by text alone"),
    ("vectors", "by vectors too"),
    ("in_force", "the one before"),
    ("guide", "scoring guide"),
    ("constant", "constant guess"),
)


Why = Annotated[
    str | None,
    typer.Option("--why", metavar="ID", help="What this memory is worth, by what features."),
]
SecondOpinions = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000,
        metavar="N",
        help="The N memories whose given importance and the model's differ most.",
    ),
]


def importance(
    context: typer.Context,
    why: Why = None,
    second_opinions: SecondOpinions = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Go back to the model before, or to the guide.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Show the model in force and how good it is on memories that it did not learn from.

    Beside it the scoring guide and the constant guess. Train one: skymem train. With --why, or
    --second-opinions, what it says of memories.

    Example: skymem importance --why c1dbbfd1
    """
    from skymem.weighing import models_overview, roll_back
    from skymem.weighing import second_opinions as told_opinions
    from skymem.weighing import why as told_why

    spoken = globals_of(context)
    if why is not None:
        agent = spoken.bound_agent()
        found = told_why(spoken.open_to_use(), agent, why)
        (render.document if as_json else _why)(found)
        return
    if second_opinions is not None:
        agent = spoken.bound_agent()
        found = told_opinions(spoken.open_to_use(), agent, second_opinions)
        (render.document if as_json else _opinions)(found)
        return
    if rollback:
        agent = spoken.bound_agent()
        detail = roll_back(spoken.open(), agent, dry_run=dry_run)
        (render.document if as_json else _rolled_back)(detail)
        return
    home = spoken.open_to_use()
    found = models_overview(home, home.agents(spoken.agent))
    if as_json:
        render.document(found)
        return
    for agent, one in found["agents"].items():
        _model(agent, one, found["predict"])
    if not found["agents"]:
        render.line("there is no agent yet")


def _model(agent: str, found: dict[str, Any], predict: str) -> None:
    for name in found["damaged"]:
        render.complain(f"state/importance/{agent}/{name} can't be read; the one before counts")
    model = found["model"]
    if model is None:
        render.line(f"{agent}: no model; the scoring guide counts (train one: skymem train)")
        return
    asked = {"off": "asked about nothing (importance: predict: off)"}
    use = asked.get(predict, "asked about memories without importance")
    if predict == "second_opinion":
        use += ", and a second opinion of the others"
    at = render.moment(model["trained_at"])
    render.line(f"{agent}: model of {at} UTC, {model['age_days']:.1f} days old, {use}")
    by = ", ".join(f"{count:,} by {what}" for what, count in model["by"].items())
    if model["goes_by"] == "vectors":
        render.line("  goes by the text and, while the engine is there, by what it means")
    render.line(
        f"  learned from {model['taught']:,} memories ({by}); {model['features']:,} features"
    )
    render.line(f"  tried on the {model['held_out']:,} newest, against {model['threshold']:g}:")
    shown = {**model["figures"]}
    shown.pop(model["goes_by"], None)  # it is this model
    rows = [_figures(name, shown[key]) for key, name in _ROWS if key in shown]
    headings = ("  ", "off by", "Brier", "log loss", "precision", "recall", "promoted")
    for text in render.table_lines(headings, rows):
        render.line(text)
    each = ", ".join(
        f"{one['predicted']:.2f} → {one['found']:.2f} ({one['memories']:,})"
        for one in model["figures"]["model"]["bins"]
    )
    render.line(f"  predicted → found: {each}")
    if len(found["kept"]) > 1:
        render.line(f"  {len(found['kept'])} kept; go back: skymem importance --rollback")


def _figures(name: str, told: dict[str, Any]) -> list[str]:
    shares = (told["precision"], told["recall"], told["promoted"])
    cells = [f"{told[key]:.3f}" for key in ("mae", "brier", "log_loss")]
    return [f"  {name}", *cells, *("–" if one is None else f"{one:.0%}" for one in shares)]


def _why(found: dict[str, Any]) -> None:
    value, threshold = found["importance"], found["threshold"]
    verdict = "reaches" if value >= threshold else "is below"
    told = f"{found['id']}  importance {value:g} ({found['source']}) {verdict} {threshold:g}"
    render.paragraph(told)
    predicted = found["prediction"]
    if predicted is None:
        render.line("  no model says anything of it (train one: skymem train)")
        return
    if found["importance_source"] != "predicted":
        render.line(f"  a model would say {predicted['importance']:g}; that does not count here")
    render.line(f"  {predicted['base']:+.3f}  what the usual memory starts with")
    near = predicted.get("nearest")
    for part in predicted["parts"][:PARTS_SHOWN]:
        told = part["feature"]
        if told == ABOUT and near:
            told += f"; nearest kept memories: {', '.join(near)}"
        render.paragraph(f"{part['adds']:+.3f}  {told}", 2)
    rest = predicted["parts"][PARTS_SHOWN:]
    if rest:
        render.line(f"  {sum(one['adds'] for one in rest):+.3f}  {len(rest):,} smaller ones")
    if predicted.get("by") == "text":
        render.line("  what it is about has no share: the engine does not run, or did not tell")
    total, share = predicted["log_odds"], predicted["importance"]
    render.line(f"  {total:+.3f}  in all, in log-odds: {share:g}")


def _opinions(found: dict[str, Any]) -> None:
    if found["model"] is None:
        render.line(f"{found['agent']}: no model; it has no opinion (train one: skymem train)")
        return
    if not found["memories"]:
        render.line(f"{found['agent']}: no memory was given an importance")
        return
    rows = [
        [one["id"], one["tier"], f"{one['importance']:g}", f"{one['predicted']:g}"]
        for one in found["memories"]
    ]
    for text in render.table_lines(("memory", "tier", "given", "the model says"), rows):
        render.line(text)
    render.line("what was given counts; why a model says so: skymem importance --why ID")


def _rolled_back(detail: dict[str, Any]) -> None:
    would = "would be " if detail.get("dry_run") else ""
    gone = render.moment(detail["rolled_back"])
    after = detail["in_force"]
    then = "the scoring guide" if after is None else f"the model of {render.moment(after)} UTC"
    render.line(f"{detail['agent']}: the model of {gone} UTC {would}set aside; {then} counts")
