"""The `preferences:` section of `retention_rules.yaml`: which a user may have, and their values."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from skymem.config import fields
from skymem.config.key import PREFERENCE, RULES_FILE, TOP, Key
from skymem.config.keys import key_at
from skymem.config.problems import Complaints, shown
from skymem.config.readers import NONE, Setting, Shown, note_lines, read_settings
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar, Table
from skymem.model.preference import NAME_CHARACTERS_MAX, Declared, meant, name_fault, spoken

_NUMBERS: Final = ("number", "whole")


def read_preferences(
    pair: Pair, complaints: Complaints, lines: dict[str, int]
) -> Mapping[str, Declared]:
    """What the file declares; `lines` is told where each key stands."""
    found = fields.table(pair, key_at(RULES_FILE, TOP, "preferences"), complaints)
    declared: dict[str, Declared] = {}
    related: list[tuple[Node, str]] = []
    for each in found.pairs if found else ():
        name = each.key.text  # as it is written: one may be called no or null
        if name_fault(name):
            remedy = f"use 1 to {NAME_CHARACTERS_MAX} characters that show, no space at either end"
            complaints.at(each.key, f"preference {shown(name)} is no name ({remedy})")
        elif not isinstance(each.value, Table):
            example = f"{name}: {{type: word}}"
            complaints.at(each.key, f"preference {shown(name)} says nothing (such as {example})")
        else:
            note_lines(each.value, PREFERENCE, f"preferences.{name}", lines)
            declared[name] = _declared(name, each.value, complaints, related)
    for node, name in related:
        if name not in declared:
            complaints.at(node, f"related: no preference {shown(name)}{meant(name, declared)}")
    return MappingProxyType(declared)


def preference_values(one: Declared) -> dict[str, Shown]:
    """What is declared of one, as it is written in the file; `none` for what is not set."""
    values = {
        "type": one.type,
        "choices": one.choices,
        "default": one.default,
        "related": one.related,
        "meaning": one.meaning,
        "least": one.least,
        "most": one.most,
    }
    return {
        name: NONE if value in (None, (), "") else _shown(value) for name, value in values.items()
    }


def value_of(node: Node) -> Any:
    """A value, or a list of them, as JSON has it; None for anything else."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items) and all(isinstance(item, Scalar) for item in node.items):
        return [value_of(item) for item in node.items]
    return None


def fitted(value: Any, text: str, kind: str) -> Any:
    """What was meant by a plain `5` or `true` where a text belongs: the text as it is written."""
    plain = not isinstance(value, str | list) and value is not None
    return text if plain and kind in ("word", "text") else value


def _shown(value: Any) -> Shown:
    return value if isinstance(value, bool | int | float) else spoken(value)


def _declared(
    name: str, found: Table, complaints: Complaints, related: list[tuple[Node, str]]
) -> Declared:
    values = read_settings(found, PREFERENCE, _SETTINGS, complaints)
    kind = values.get("type", "text")
    choices = found.get("choices")
    if choices is not None:
        values["choices"] = _choices(choices, kind, complaints)
    pair = found.get("related")
    if pair is not None:
        values["related"] = _related(pair, complaints, related)
    _check_bounds(found, kind, values, complaints)
    declared = Declared(name, **values)
    default = found.get("default")
    if default is None:
        return declared
    return _with_default(declared, values, default, complaints)


def _with_default(
    declared: Declared, values: dict[str, Any], pair: Pair, complaints: Complaints
) -> Declared:
    if not fields.has_value(pair, key_at(RULES_FILE, PREFERENCE, "default"), complaints):
        return declared
    value = _value(pair.value, declared.type)
    fault = declared.fault(value)
    if fault:
        complaints.at(pair.value, f"default: {fault}")
        return declared
    return Declared(declared.name, **{**values, "default": value})


def _value(node: Node, kind: str) -> Any:
    value = value_of(node)
    if isinstance(node, Items) and kind == "list" and value is not None:
        return [fitted(one, item.text, "text") for one, item in _scalars(node, value)]
    return fitted(value, node.text, kind) if isinstance(node, Scalar) else value


def _scalars(node: Items, values: list[Any]) -> list[tuple[Any, Scalar]]:
    return [
        (one, each)
        for one, each in zip(values, node.items, strict=True)
        if isinstance(each, Scalar)
    ]


def _choices(pair: Pair, kind: str, complaints: Complaints) -> tuple[Any, ...]:
    found = fields.items(pair, key_at(RULES_FILE, PREFERENCE, "choices"), complaints)
    single = Declared("", "text" if kind == "list" else kind)
    values = []
    for node in found.items if found else ():
        value = _value(node, single.type)
        fault = single.fault(value)
        if fault:
            complaints.at(node, f"choices: {fault}")
        else:
            values.append(value)
    if found is not None and not found.items:
        complaints.at(pair.value, "choices is empty (remove the line to allow any)")
    if kind == "bool":
        complaints.at(pair.key, "choices: a bool is true or false (remove the line)")
        return ()
    return tuple(values)


def _related(
    pair: Pair, complaints: Complaints, related: list[tuple[Node, str]]
) -> tuple[str, ...]:
    found = fields.items(pair, key_at(RULES_FILE, PREFERENCE, "related"), complaints)
    names = [node for node in (found.items if found else ()) if isinstance(node, Scalar)]
    if found is not None and len(names) < len(found.items):
        complaints.at(pair.value, "related: names of preferences, and nothing else")
    related += [(node, node.text) for node in names]
    return tuple(dict.fromkeys(node.text for node in names))


def _check_bounds(found: Table, kind: str, values: dict[str, Any], complaints: Complaints) -> None:
    for name in ("least", "most"):
        pair = found.get(name)
        if pair is not None and kind not in _NUMBERS:
            complaints.at(pair.key, f"{name}: only a number has one (write type: number beside it)")
            values.pop(name, None)
    least, most = values.get("least"), values.get("most")
    if least is not None and most is not None and least > most:
        complaints.at(found.pairs[0].key, f"least: {least:g} is more than most: {most:g}")


def _words(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    found = fields.text(pair, key, complaints)
    return None if found is None else " ".join(found.split())


_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "type": Setting("type", fields.choice),
        "meaning": Setting("meaning", _words),
        "least": Setting("least", fields.number),
        "most": Setting("most", fields.number),
    }
)
"""Those that stand alone; the others go by the type."""
