"""What was typed is given to Typer to convert only where there is something to convert.

Typer converts by Pydantic, whose loading takes longer than most verbs' work, and asks it about each
parameter of a verb, given or not. But what was not given is nothing, and a text is one already.
"""

from functools import partial
from typing import Any, Final

SAME: Any = object()
"""Stands for: that is for Typer to say."""

DIGITS_MAX: Final = 15
"""Of a number that is spelled plainly."""


def spare_conversion(command: Any) -> Any:
    """Have the parameters of a command, or of all in a group, do without it where they can.

    Args:
        command: what Typer made, which is changed, and returned. Of a Typer whose parameters have
            other parts, what is set here means nothing, and it converts all.
    """
    command.get_params = partial(_params, command.get_params)  # `--help` is added there
    for one in getattr(command, "commands", {}).values():
        spare_conversion(one)
    return command


def _params(params: Any, context: Any) -> list[Any]:
    found = [*params(context)]
    for parameter in found:
        convert = getattr(parameter, "process_value", None)
        if not isinstance(convert, partial):
            parameter.process_value = partial(_process, parameter, convert)
    return found


def _process(parameter: Any, convert: Any, context: Any, value: Any) -> Any:
    """As `convert` does, which is the parameter's own; at once where nothing is to be converted."""
    found = _as_it_is(parameter, value)
    if found is SAME:
        return convert(context, value)
    return found if parameter.callback is None else parameter.callback(context, parameter, found)


def _as_it_is(parameter: Any, value: Any) -> Any:
    """The value, or `SAME` where it is to be converted, or its lack to be told."""
    several = parameter.multiple or parameter.nargs == -1
    if value is None and not parameter.required:
        return () if several else None
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if several:
        texts = kind == list[str] and isinstance(value, tuple | list) and all(map(_is_plain, value))
        return [*value] if texts and value else SAME
    if (kind is str and _is_plain(value)) or (kind in (int, float) and type(value) is kind):
        return value  # a number that is one already is a default
    return _number(parameter, kind, value) if kind in (int, float) and _is_plain(value) else SAME


def _number(parameter: Any, kind: type[int] | type[float], text: str) -> Any:
    """The number, where it is spelled in the plainest way and within bounds."""
    digits = text.replace(".", "", 1) if kind is float else text
    if not digits.isdigit() or len(digits) > DIGITS_MAX:
        return SAME
    number, least, most = kind(text), parameter.min, parameter.max
    fits = (least is None or least <= number) and (most is None or number <= most)
    return number if fits else SAME


def _is_plain(value: Any) -> bool:
    """Whether it is a text that nothing can be said against; of others Typer says whether it is."""
    return type(value) is str and value.isascii()
