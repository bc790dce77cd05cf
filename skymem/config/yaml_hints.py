"""What the YAML parser stumbled over, said so that the one who wrote it can go on."""

from typing import Final

import yaml

from skymem.config.problems import shown
from skymem.model.regex import regex

# What follows `- `, `key:` or both, when it starts with a character YAML keeps for itself.
_RESERVED_START: Final = regex(
    r"\s*(?:(?:-\s+)+(?:[^\s:#'\"]+\s*:\s+)?|[^\s:#'\"]+\s*:\s+)"
    r"(?P<value>(?:[*@`%|>]|&(?!\w)).*?)\s*(?:\s#.*)?"
)
_FLOW_VALUE: Final = regex(r"(?:[*@`%|>]|&(?!\w))[^],}#]*(?:,[\d*][^],}#]*)*")

_INDENTATION: Final = "this does not fit what stands above it (look at the indentation)"
_PLAIN_WORDS: Final = (
    ("found character '\\t'", "a tab stands here (use spaces)"),
    ("expected <block end>", _INDENTATION),
    ("expected '<document start>'", _INDENTATION),
    (
        "mapping values are not allowed",
        'a second ": " on this line, or one indented too far (text with ": " needs quotes)',
    ),
    ("could not find expected ':'", "a key without a colon (write key: value)"),
    ("found unexpected end of stream", "a quote is never closed"),
    ("expected ',' or ']'", "a list that starts with [ lacks its ] or a comma"),
    ("expected ',' or '}'", "a mapping that starts with { lacks its } or a comma"),
)
_LINE_LOOKED_AT_MAX: Final = 300  # characters: the pattern above is slow on a line of a megabyte


def explain_parser_error(text: str, error: yaml.MarkedYAMLError) -> tuple[int, int, str]:
    """Line, column (from 1) and message for an error of the parser, with a known remedy."""
    lines = text.split("\n")
    marks = [mark for mark in (error.problem_mark, error.context_mark) if mark is not None]
    for mark in marks:
        line = _line(lines, mark)
        hint = _quote_hint(line) or _flow_hint(line, mark.column)
        if hint is not None:
            return mark.line + 1, *hint
    if not marks:  # pragma: no cover - the parser marks all of its errors
        return 1, 1, str(error)
    place = marks[0]
    if _indented_by_tab(_line(lines, place)):
        return place.line + 1, 1, "a tab stands here (use spaces)"
    return place.line + 1, place.column + 1, _in_plain_words(error)


def _in_plain_words(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "this cannot be read"
    start = error.context_mark
    opened = f", from line {start.line + 1} on" if start is not None and error.context else ""
    for theirs, ours in _PLAIN_WORDS:
        if theirs in problem:
            return ours + ("" if ours is _INDENTATION else opened)
    return f"not readable as YAML: {error.context or 'here'}: {problem}{opened}"


def _line(lines: list[str], mark: yaml.Mark) -> str:
    return lines[mark.line][:_LINE_LOOKED_AT_MAX] if mark.line < len(lines) else ""


def _indented_by_tab(line: str) -> bool:
    return "\t" in line[: len(line) - len(line.lstrip())]


def _quote_hint(line: str) -> tuple[int, str] | None:
    match = _RESERVED_START.fullmatch(line)
    if match is None:
        return None
    value = match["value"]
    if not {*value} & {*"[{"}:  # a list or mapping that began above ends here
        value = value.rstrip("]}, ")
    return _quoted(match.start("value"), value)


def _flow_hint(line: str, column: int) -> tuple[int, str] | None:
    """The same inside [ ] or { }, where a value ends at a comma (but for one in a cron)."""
    value = _FLOW_VALUE.match(line, column)
    if value is None or not line[:column].rstrip().endswith((":", ",", "[", "{")):
        return None
    return _quoted(column, value[0].rstrip())


def _quoted(column: int, value: str) -> tuple[int, str]:
    remedy = f"put quotes around it: {shown(value)}"
    return column + 1, f"YAML keeps {value[0]} at the start for itself ({remedy})"
