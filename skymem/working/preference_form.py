"""What makes a preference: what is asked for, checked whole, and its line (rows W3 to W5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from skymem import doors
from skymem.model.preference import (
    PREFERENCE,
    Declared,
    Preference,
    free_fault,
    meant,
    name_fault,
    payload_of,
    shown,
)
from skymem.model.spelling import read_line
from skymem.policy.conditions import condition_faults, effect_faults
from skymem.policy.form import Admitted
from skymem.policy.preferred import in_a_sentence

if TYPE_CHECKING:
    from skymem.app import Home

IMPORTANCE: Final = 0.9
"""What a preference is worth at least: promote takes it, whatever the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A preference to be written."""

    key: str = ""
    rule: str = ""
    value: Any = None
    text: str = ""
    """It in words, where it has neither key nor rule."""

    condition: Mapping[str, Any] | None = None
    effect: Mapping[str, Any] | None = None
    how: str = "hand"
    user_id: str | None = None
    tags: Sequence[str] | None = None
    """None for those it had."""

    origin: str | None = None
    trust: float | None = None
    evidence_ids: Sequence[str] = ()


def faults_of(wanted: Wanted, declared: Mapping[str, Declared]) -> list[str]:
    """Say everything that is wrong with what is asked for, each with its field."""
    faults: list[str] = []
    if wanted.key or wanted.value is not None:
        faults += filter(None, [key_fault(wanted.key, declared) or value_fault(wanted, declared)])
    elif wanted.rule or not wanted.text:
        faults += filter(None, [name_fault(wanted.rule, "rule")])
    if wanted.condition is not None or wanted.rule:
        faults += condition_faults(wanted.condition)
    if wanted.effect is not None or wanted.rule:
        faults += effect_faults(wanted.effect, declared)
    return faults


def key_fault(key: Any, declared: Mapping[str, Declared]) -> str:
    """Say why there is no such preference; "" when there is, or none at all is declared."""
    fault = name_fault(key)
    if fault or not declared or key in declared:
        return fault
    near = meant(key, declared) or f"; there are: {', '.join(declared)}"
    return (
        f'field "key": no preference {shown(key)} is declared{near}; others are declared '
        "under preferences: in retention_rules.yaml"
    )


def line_of(
    home: "Home", agent: str, wanted: Wanted, *, tags: Sequence[str], supersedes: Sequence[str]
) -> tuple[Preference, Admitted]:
    """Spell a preference as a line of short-term, and read it again.

    Raises:
        InvalidMemoryError: a field is outside its range; the message names it.
    """
    from skymem.app import now

    payload = payload_of(
        key=wanted.key, rule=wanted.rule, value=wanted.value, condition=wanted.condition,
        effect=wanted.effect, how=wanted.how,
    )  # fmt: skip
    extra = {
        "record_type": PREFERENCE,
        "payload": payload,
        "stability": "permanent",
        "user_id": wanted.user_id,
        "evidence_ids": [*wanted.evidence_ids] or None,
        "supersedes": [*supersedes] or None,
    }
    line = doors.new_memory(
        home,
        _words(wanted, home.rules.preferences),
        now=now(),
        tags=tags,
        importance=max(IMPORTANCE, home.rules.for_agent(agent).promote_threshold),
        origin=wanted.origin,
        trust=wanted.trust,
        extra={name: value for name, value in extra.items() if value is not None},
    )
    return Preference.of(line.id, "short", read_line(line.raw)), line


def _words(wanted: Wanted, declared: Mapping[str, Declared]) -> str:
    if wanted.text or not (wanted.key or wanted.rule):
        return wanted.text
    known = declared.get(wanted.key)
    return in_a_sentence(
        wanted.key or wanted.rule,
        wanted.value,
        condition=wanted.condition,
        effect=wanted.effect,
        meaning="" if known is None else known.meaning,
    )


def value_fault(wanted: Wanted, declared: Mapping[str, Declared]) -> str:
    """Say why the value can't be; "" when it can."""
    known = declared.get(wanted.key)
    fault = free_fault(wanted.value) if known is None else known.fault(wanted.value)
    return f'field "value": {wanted.key}: {fault}' if fault else ""
