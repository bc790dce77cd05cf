"""Which preference holds, what applies in a situation, and which go together (rows W3, W5).

Conflicts have one order: a user's own goes before everybody's, then what makes more tests before
what makes fewer, then the newer, then the lesser id. What is only declared comes last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skymem.model.preference import Declared, Preference, spoken
from skymem.policy.conditions import count_tests, holds, in_words

DEFAULT = "default"
"""How a value came about that configuration declares and nobody has said otherwise."""


class Effect(NamedTuple):
    """What one preference changes, and which it is."""

    name: str
    value: Any
    by: Preference


@dataclass(slots=True)
class Applied:
    """What the preferences make of a situation."""

    effects: dict[str, Effect] = field(default_factory=dict)
    """By name, the one that holds."""

    overruled: list[Effect] = field(default_factory=list)
    """What would have held but for those, in the same order."""

    def __getitem__(self, name: str) -> Any:
        """The value that holds under a name."""
        return self.effects[name].value

    def __contains__(self, name: str) -> bool:
        """Whether anything holds under a name."""
        return name in self.effects

    @property
    def values(self) -> dict[str, Any]:
        """The values alone."""
        return {name: one.value for name, one in self.effects.items()}

    def as_json(self) -> dict[str, Any]:
        """Spell it: each effect with the preference it is by."""
        return {
            "effects": self.values,
            "by": {name: _by(one) for name, one in self.effects.items()},
            "overruled": [{"name": one.name, **_by(one)} for one in self.overruled],
        }


class Hop(NamedTuple):
    """A preference that goes with another."""

    preference: Preference
    source: Preference
    """The one it goes with."""

    by: str
    """`related`, as configuration says; or `tag:NAME`, a tag that both have."""


def current(preferences: Iterable[Preference]) -> list[Preference]:
    """Of each identity the one that holds: the newest, then the lesser id.

    Two that were written at the same moment without each other stand side by side; every reader
    takes the same one of them.
    """
    first: dict[tuple[str, str, str, str], Preference] = {}
    for one in sorted(preferences, key=_age):
        first.setdefault(one.identity, one)
    return [*first.values()]


def for_user(preferences: Iterable[Preference], user_id: str | None) -> list[Preference]:
    """A user's own and everybody's; with no user everybody's alone."""
    return [one for one in preferences if one.user_id in (None, user_id)]


def apply(
    preferences: Iterable[Preference],
    situation: Mapping[str, Any],
    user_id: str | None,
    declared: Mapping[str, Declared],
) -> Applied:
    """Work out what holds in a situation."""
    mine = current(for_user(preferences, user_id))
    fitting = [one for one in mine if holds(one.condition, situation)]
    applied = Applied()
    for one in [*sorted(fitting, key=_order), *defaults(declared)]:
        for name, value in one.effects.items():
            effect = Effect(name, value, one)
            if name not in applied.effects:
                applied.effects[name] = effect
            elif one.how != DEFAULT:
                applied.overruled.append(effect)
    return applied


def defaults(declared: Mapping[str, Declared]) -> Iterator[Preference]:
    """What is declared to hold while nobody has said."""
    for one in declared.values():
        if one.default is not None:
            yield undeclared_by_anyone(one)


def undeclared_by_anyone(one: Declared) -> Preference:
    """A declared preference that nobody has written, with its default if it has one."""
    return Preference(
        id="", tier="", key=one.name, rule="", value=one.default,
        text=in_a_sentence(one.name, one.default, meaning=one.meaning),
        condition=None, effect=None, how=DEFAULT, user_id=None, ts=None,
    )  # fmt: skip


def hops(
    found: Sequence[Preference], others: Sequence[Preference], declared: Mapping[str, Declared]
) -> list[Hop]:
    """Those that go with what was found, one step away and each once, in the order of the found."""
    met = {one.id for one in found}
    reached: list[Hop] = []
    for source in found:
        for other in others:
            by = _goes_with(source, other, declared)
            if by and other.id not in met:
                met.add(other.id)
                reached.append(Hop(other, source, by))
    return reached


def in_a_sentence(
    name: str,
    value: Any = None,
    *,
    condition: Mapping[str, Any] | None = None,
    effect: Mapping[str, Any] | None = None,
    meaning: str = "",
) -> str:
    """A preference in words: what people read, and what it is found by."""
    said = name.replace("_", " ")
    if value is not None:
        said += f": {spoken(value)}"
    if condition is not None:
        said += f", when {in_words(condition)}"
    if effect is not None:
        changes = " and ".join(
            f"{one.replace('_', ' ')} is {spoken(effect[one])}" for one in effect
        )
        said += f": {changes}" if value is None else f"; then {changes}"
    return f"{said} ({meaning})" if meaning else said


def _goes_with(one: Preference, other: Preference, declared: Mapping[str, Declared]) -> str:
    related = declared[one.key].related if one.key in declared else ()
    if other.key and other.key in related:
        return "related"
    shared = [tag for tag in one.tags if tag in other.tags]
    return f"tag:{shared[0]}" if shared else ""


def _age(one: Preference) -> tuple[float, str]:
    return -(one.ts or 0.0), one.id


def _order(one: Preference) -> tuple[bool, int, float, str]:
    return one.user_id is None, -count_tests(one.condition), *_age(one)


def _by(effect: Effect) -> dict[str, Any]:
    by = effect.by
    told = {"value": effect.value, "id": by.id or None, "preference": by.name, "how": by.how}
    return told | {"condition": by.condition, "user_id": by.user_id}
