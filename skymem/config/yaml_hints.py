"""What the YAML parser stumbled over, said so that the one who wrote it can go on."""

import re
from typing import Final

import yaml

from skymem.config.problems import shown

# What follows `- `, `key:` or both, when it starts with a character YAML keeps for itself.
_RESERVED_START: Final = re.compile(
    r"\s*(?:-\s+)*(?:[^\s:#'\"]+\s*:\s+)?(?P<value>[*@`%&!|>][^#]*?)\s*(?:\s#.*)?"
)


def explain_parser_error(text: str, error: yaml.MarkedYAMLError) -> tuple[int, int, str]:
    """Line, column (from 1) and message for an error of the parser, with a known remedy."""
    mark = error.problem_mark or error.context_mark
    if mark is None:  # pragma: no cover - the parser marks all of its errors
        return 1, 1, str(error)
    lines = text.split("\n")
    problem = error.problem or "this cannot be read"
    for place in (error.problem_mark, error.context_mark):
        hint = _quote_hint(lines, place)
        if hint is not None and place is not None:
            return place.line + 1, hint[0], hint[1]
    if "'\\t'" in problem or _indented_by_tab(lines, mark):
        return mark.line + 1, 1, "a tab indents this line (use spaces)"
    if "mapping values are not allowed" in problem:
        remedy = 'text that holds ": " needs quotes around it; otherwise look at the indentation'
        return mark.line + 1, mark.column + 1, f"a second key on this line ({remedy})"
    return _plain_words(error, mark, problem)


def _plain_words(
    error: yaml.MarkedYAMLError, mark: yaml.Mark, problem: str
) -> tuple[int, int, str]:
    start = error.context_mark
    opened = f" (it began on line {start.line + 1})" if start and error.context else ""
    context = f"{error.context}: " if error.context else ""
    return mark.line + 1, mark.column + 1, f"not readable as YAML: {context}{problem}{opened}"


def _line(lines: list[str], mark: yaml.Mark | None) -> str:
    return lines[mark.line] if mark is not None and mark.line < len(lines) else ""


def _indented_by_tab(lines: list[str], mark: yaml.Mark) -> bool:
    line = _line(lines, mark)
    return "\t" in line[: len(line) - len(line.lstrip())]


def _quote_hint(lines: list[str], mark: yaml.Mark | None) -> tuple[int, str] | None:
    match = _RESERVED_START.fullmatch(_line(lines, mark))
    if match is None:
        return None
    value = match["value"]
    message = (
        f"YAML keeps {value[0]} at the start for itself (put quotes around it: {shown(value)})"
    )
    return match.start("value") + 1, message
