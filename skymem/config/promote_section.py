"""How the section `promote:` is read, of the home and of one agent, and shown again (P13, P14)."""

from typing import Any, Final

from skymem.config import fields
from skymem.config.key import AGENT, DECAY, PROMOTE, RECALLED, RULES_FILE, TOP, Key
from skymem.config.keys import key_at
from skymem.config.problems import Complaints, shown
from skymem.config.readers import (
    NONE,
    Setting,
    Settings,
    Shown,
    note_lines,
    read_settings,
    seconds,
    show_settings,
)
from skymem.config.yaml_nodes import Pair, Scalar, Table
from skymem.model.promotion import PromotionRules

_INNER: Final = {"decay": DECAY, "recalled": RECALLED}
"""Mappings inside of it, each a field of its name."""


def read_promotion(
    pair: Pair, usual: PromotionRules, place: str, complaints: Complaints, lines: dict[str, int]
) -> PromotionRules:
    """The rules of the section; what it does not say is as in `usual`.

    Args:
        pair: the key and its mapping.
        usual: what is so without it.
        place: where it stands: `promote`, or `agents.sky.promote`.
        complaints: told of what is wrong.
        lines: told where each key stands.
    """
    level = TOP if place == PROMOTE else AGENT
    found = fields.table(pair, key_at(RULES_FILE, level, PROMOTE), complaints)
    if found is None:
        return usual
    note_lines(found, PROMOTE, place, lines)
    values: dict[str, Any] = read_settings(found, PROMOTE, _OWN, complaints)
    for name, level in _INNER.items():
        own = found.get(name)
        inner = fields.table(own, key_at(RULES_FILE, PROMOTE, name), complaints) if own else None
        if inner is not None:
            note_lines(inner, level, f"{place}.{name}", lines)
            read = read_settings(inner, level, _SETTINGS[name], complaints)
            values[name] = getattr(usual, name)._replace(**read)
    rules = usual._replace(**values)
    _check(found, rules, complaints)
    return rules


def promotion_values(rules: PromotionRules) -> dict[str, Any]:
    """Each setting as it is written in the file, those of inner mappings inside of it."""
    inner: dict[str, Any] = {
        name: show_settings(_SETTINGS[name], getattr(rules, name)) for name in _INNER
    }
    return {**inner, **show_settings(_OWN, rules)}


def _check(found: Table, rules: PromotionRules, complaints: Complaints) -> None:
    """A word that is to be both is a slip of the hand: `never` would win, unseen."""
    for always, never in (("always_tags", "never_tags"), ("always_kinds", "never_kinds")):
        both = sorted({*getattr(rules, always)} & {*getattr(rules, never)})
        pair = found.get(never) or found.get(always)
        if both and pair is not None:
            complaints.at(pair.key, f"{shown(both[0])} is in {always} and in {never} (choose one)")


def _words(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    """A list of words, casefolded; the empty list is none of them."""
    found = fields.items(pair, key, complaints)
    if found is None:
        return None
    words = [one.text for one in found.items if isinstance(one, Scalar) and one.text.strip()]
    if len(words) != len(found.items):
        complaints.at(found, f"{key.name} must be a list of words (such as {key.example})")
        return None
    return tuple(dict.fromkeys(word.casefold() for word in words))


def _shown(words: tuple[str, ...]) -> Shown:
    return ", ".join(words) or NONE


def _share(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    found = fields.number(pair, key, complaints)
    return None if found is None else float(found)


_OWN: Final[Settings] = {
    **{
        name: Setting(name, _words, _shown)
        for name in ("always_tags", "never_tags", "always_kinds", "never_kinds")
    },
    "calibrate": Setting("calibrate", fields.choice),
}
_SETTINGS: Final[dict[str, Settings]] = {
    "decay": {"per_day": Setting("per_day", _share), "floor": Setting("floor", _share)},
    "recalled": {
        "times": Setting("times", fields.whole),
        "queries": Setting("queries", fields.whole),
        "within": seconds("within_seconds"),
    },
}
