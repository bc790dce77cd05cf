"""What a YAML file is read into: scalars, lists and mappings that know where they stand."""

from typing import Final, NamedTuple

from skymem.model.regex import regex

# No leading zeros, octal or hexadecimal: what 0123 means depends on the reader, so it is text.
_INTEGER: Final = regex(r"[-+]?(0|[1-9][0-9]{0,39})")
_FLOAT: Final = regex(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FLOAT_WORD: Final = regex(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, bool | None]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip


class Scalar(NamedTuple):
    """One value or key; `text` is what was written, `value` what YAML 1.2 reads it as."""

    text: str
    value: str | int | float | bool | None
    line: int
    column: int


class Items(NamedTuple):
    """A list."""

    items: tuple["Node", ...]
    line: int
    column: int


class Pair(NamedTuple):
    """A key and its value."""

    key: Scalar
    value: "Node"


class Table(NamedTuple):
    """A mapping; of keys that stand twice, the first (the other is complained about)."""

    pairs: tuple[Pair, ...]
    line: int
    column: int

    def get(self, name: str) -> Pair | None:
        """The pair with that key, if there is one."""
        return next((pair for pair in self.pairs if pair.key.text == name), None)


Node = Scalar | Items | Table


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Read an unquoted scalar by YAML 1.2's core forms; what has none of them is text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _FLOAT_WORD.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text
