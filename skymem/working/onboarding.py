"""An answer sheet in YAML or JSON, read into preferences: every problem at once (row W4).

user: ann                        # whose; everybody's when left out
preferences:
  verbosity: terse
  depth: {value: deep, when: {persona: analyst}, tags: [finance]}
rules:
  - name: analysts
    when: {persona: analyst}
    effect: {verbosity: terse, charts: true}
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from skymem.config.preferences_section import fitted
from skymem.config.problems import Complaints, shown
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar, Table
from skymem.config.yaml_text import read_yaml
from skymem.errors import InvalidMemoryError, UsageError
from skymem.model.preference import Declared, meant, name_fault
from skymem.policy.conditions import condition_faults, effect_faults
from skymem.working.preference_form import Wanted, key_fault, value_fault

ONBOARDING: Final = "onboarding"
_EXAMPLE: Final = '"preferences: {verbosity: terse}"'

SHEET: Final = ("user", "preferences", "rules")
ANSWER: Final = ("value", "when", "effect", "tags")
RULE: Final = ("name", "when", "effect", "tags")


def read_sheet(
    path: Path, declared: Mapping[str, Declared], user_id: str | None = None
) -> list[Wanted]:
    """Read what an answer sheet says.

    Args:
        path: the file.
        declared: the preferences there may be.
        user_id: whose; whom the sheet names when left out.

    Raises:
        InvalidMemoryError: names every problem with its line and column.
        UsageError: there is no such file.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    complaints = Complaints(str(path))
    reading = _Sheet(complaints, declared)
    root = read_yaml(path, complaints, _EXAMPLE, is_json=path.suffix.lower() == ".json")
    if root is not None:
        reading.read(root)
    if complaints.found:
        raise InvalidMemoryError("\n".join(map(str, complaints.sorted())))
    whose = user_id if user_id is not None else reading.user
    return [replace(one, how=ONBOARDING, user_id=whose) for one in reading.wanted]


@dataclass(slots=True)
class _Sheet:
    """What was read of a sheet, and what is wrong with it."""

    complaints: Complaints
    declared: Mapping[str, Declared]
    user: str | None = None
    wanted: list[Wanted] = field(default_factory=list)

    def read(self, root: Table) -> None:
        for pair in root.pairs:
            name, value = pair.key.text, pair.value
            if name == "user":
                self.user = self._text(pair, "user")
            elif name == "preferences" and self._is(value, Table, pair, "a mapping of answers"):
                self._answers(value)
            elif name == "rules" and self._is(value, Items, pair, "a list of rules"):
                self._rules(value)
            elif name not in SHEET:
                self.complaints.at(pair.key, self._unknown(name))
        if not self.wanted and not self.complaints.found:
            self.complaints.at(root, f"the sheet answers nothing (it needs {_EXAMPLE})")

    def _unknown(self, name: str) -> str:
        if name in self.declared:
            return f"{shown(name)} does not belong here (it goes under preferences:)"
        return f"unknown key {shown(name)}{meant(name, SHEET) or _known(SHEET)}"

    # -- answers ----------------------------------------------------------------------------

    def _answers(self, found: Node) -> None:
        for pair in _pairs(found):
            fault = key_fault(pair.key.text, self.declared)
            if fault:
                self.complaints.at(pair.key, fault.removeprefix('field "key": '))
            else:
                self._answer(pair)

    def _answer(self, pair: Pair) -> None:
        key, node = pair.key.text, pair.value
        given: dict[str, Pair] = {}
        if isinstance(node, Table):
            given = self._known_pairs(node, ANSWER)
            if "value" not in given:
                example = "{value: terse, when: {persona: analyst}}"
                self.complaints.at(node, f"{shown(key)} has no value (such as {example})")
                return
            node = given["value"].value
        value = self._value(node, key)
        wanted = Wanted(key=key, value=value, **self._more(given))
        fault = value_fault(wanted, self.declared)
        if fault:
            self.complaints.at(node, fault.removeprefix('field "value": '))
        self.wanted.append(wanted)

    def _value(self, node: Node, key: str) -> Any:
        """An answer as its type has it: what is a text may look like a number."""
        value = plain(node)
        known = self.declared.get(key)
        if known is None:
            return value
        if isinstance(node, Items) and known.type == "list":
            return [
                fitted(one, item.text, "text") if isinstance(item, Scalar) else one
                for one, item in zip(value, node.items, strict=True)
            ]
        return fitted(value, node.text, known.type) if isinstance(node, Scalar) else value

    # -- rules ------------------------------------------------------------------------------

    def _rules(self, found: Node) -> None:
        names: set[str] = set()
        for node in found.items if isinstance(found, Items) else ():
            if not isinstance(node, Table):
                example = "{name: analysts, when: {persona: analyst}, effect: {verbosity: terse}}"
                self.complaints.at(node, f"this is no rule (such as {example})")
                continue
            given = self._known_pairs(node, RULE)
            missing = [name for name in ("name", "when", "effect") if name not in given]
            if missing:
                self.complaints.at(node, f"a rule needs {', '.join(missing)}")
                continue
            self._rule(given, names)

    def _rule(self, given: Mapping[str, Pair], names: set[str]) -> None:
        name = self._text(given["name"], "name") or ""
        fault = name_fault(name, "rule")
        if fault:
            self.complaints.at(given["name"].value, fault.removeprefix('field "rule": '))
        elif name in names:
            self.complaints.at(given["name"].value, f"a second rule {shown(name)}")
        names.add(name)
        self.wanted.append(Wanted(rule=name, **self._more(given)))

    # -- parts of both ----------------------------------------------------------------------

    def _more(self, given: Mapping[str, Pair]) -> dict[str, Any]:
        """What an answer or a rule says beside its value."""
        more: dict[str, Any] = {}
        if "when" in given:
            more["condition"] = plain(given["when"].value)
            self._complain(given["when"], condition_faults(more["condition"]))
        if "effect" in given:
            more["effect"] = plain(given["effect"].value)
            self._complain(given["effect"], effect_faults(more["effect"], self.declared))
        if "tags" in given:
            more["tags"] = plain(given["tags"].value)
            if not _are_texts(more["tags"]):
                self.complaints.at(given["tags"].value, "tags: not a list of texts")
        return more

    def _complain(self, pair: Pair, faults: Iterable[str]) -> None:
        for fault in faults:
            self.complaints.at(pair.value, fault)

    def _known_pairs(self, found: Table, names: tuple[str, ...]) -> dict[str, Pair]:
        for pair in found.pairs:
            if pair.key.text not in names:
                remedy = meant(pair.key.text, names) or _known(names)
                self.complaints.at(pair.key, f"unknown key {shown(pair.key.text)}{remedy}")
        return {pair.key.text: pair for pair in found.pairs if pair.key.text in names}

    def _is(self, node: Node, kind: type, pair: Pair, wanted: str) -> bool:
        if not isinstance(node, kind):
            self.complaints.at(node, f"{pair.key.text} must be {wanted}")
        return isinstance(node, kind)

    def _text(self, pair: Pair, what: str) -> str | None:
        node = pair.value
        if isinstance(node, Scalar) and node.value is not None and node.text.strip():
            return whole_letters(node.text)
        self.complaints.at(node, f"{what} must be a word")
        return None


def plain(node: Node) -> Any:
    """What stands there, as JSON has it."""
    if isinstance(node, Table):
        return {whole_letters(pair.key.text): plain(pair.value) for pair in node.pairs}
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return whole_letters(node.value) if isinstance(node.value, str) else node.value


def whole_letters(text: str) -> str:
    r"""Join what JSON spells as two halves (`\ud83d\ude00`), and YAML reads one by one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pairs(node: Node) -> Iterator[Pair]:
    return iter(node.pairs if isinstance(node, Table) else ())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


def _known(names: Iterable[str]) -> str:
    return f" (known here: {', '.join(names)})"
