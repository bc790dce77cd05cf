"""Which playbooks are equal, which fits what is asked, what a scratchpad is told (W6, W7)."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from skymem.model.playbook import Flow, Playbook
from skymem.model.preference import spelled, spoken
from skymem.policy.alike import word_key

BY_FLOW: Final = "flow"
BY_LIKENESS: Final = "likeness"

CALL_CHARACTERS_MAX: Final = 400
OUTCOME_CHARACTERS_MAX: Final = 300
QUERY_CHARACTERS_MAX: Final = 200


class Hit(NamedTuple):
    """A playbook that fits what is asked."""

    playbook: Playbook
    by: str
    """`flow`, its id; or `likeness` of what was asked."""

    score: float
    """How near what was asked is to its own question, 0 to 1."""


def same(flow: Flow, user_id: str | None) -> tuple[str, ...]:
    """What is equal for two executions of one playbook: all but what came of it."""
    key = word_key(flow.user_query).hex()
    return user_id or "", flow.flow_dact, spelled(flow.slots), spelled([*flow.tool_calls]), key


def current(playbooks: Iterable[Playbook]) -> list[Playbook]:
    """Of equal ones the newest, newest first; two may have been written without each other."""
    first: dict[tuple[str, ...], Playbook] = {}
    for one in sorted(playbooks, key=lambda one: (-(one.ts or 0.0), one.id)):
        first.setdefault(same(one.flow, one.user_id), one)
    return [*first.values()]


def fitting(
    playbooks: Sequence[Playbook], scores: Sequence[float], flow: str, least: float
) -> list[Hit]:
    """Those of a flow, else those whose likeness is at least so much, best first.

    Of equally near ones a user's own is first, then what went well more often, then the newer, then
    the lesser id.
    """
    pairs = [*zip(playbooks, scores, strict=True)]
    hits = [Hit(one, BY_FLOW, score) for one, score in pairs if flow == one.flow.flow_dact]
    if not hits:
        hits = [Hit(one, BY_LIKENESS, score) for one, score in pairs if score and score >= least]
    return sorted(hits, key=_order)


def snippet(flow: Flow, characters_max: int) -> str:
    """A playbook as a scratchpad is told of it: the same for the same, and no longer than that."""
    query = _cut(" ".join(flow.user_query.split()), QUERY_CHARACTERS_MAX)
    parts = [f"Playbook {flow.flow_dact}, which went well for: {query}"]
    if flow.slots:
        slots = ", ".join(f"{name} = {spoken(value)}" for name, value in flow.slots.items())
        parts.append(f"Slots: {_cut(slots, CALL_CHARACTERS_MAX)}")
    outcome = _cut(" ".join(flow.outcome.split()), OUTCOME_CHARACTERS_MAX)
    end = f"Outcome: {outcome}"
    left = characters_max - len("\n".join(parts)) - len(end) - len("\n") * 2
    text = "\n".join([*parts, *_steps(flow, left), end])
    return text.encode("utf-8", "replace").decode()  # half a pair of letters no reader would get


def _steps(flow: Flow, characters: int) -> list[str]:
    """The calls in their order, as many as there is room for; the rest is counted."""
    steps: list[str] = []
    for number, call in enumerate(flow.tool_calls, 1):
        text = json.dumps(call, ensure_ascii=False)
        step = _cut(f"{number}. {text}", CALL_CHARACTERS_MAX)
        rest = f"and {len(flow.tool_calls) - number + 1} more calls, which the playbook has"
        characters -= len(step) + 1
        if characters < len(rest) + 1:
            return [*steps, rest]
        steps.append(step)
    return steps


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _order(hit: Hit) -> tuple[float, bool, int, float, str]:
    one = hit.playbook
    return -hit.score, one.user_id is None, -one.count, -(one.ts or 0.0), one.id
