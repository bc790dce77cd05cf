"""Regular expressions that are compiled when they are first used.

The program knows a hundred, a command uses a handful, and compiling them all takes longer than most
commands' own work.
"""

import re
from collections.abc import Callable
from typing import Any, AnyStr, Final, cast

_OF_A_PATTERN: Final = tuple(one for one in dir(re.Pattern) if not one.startswith("__"))


class _Compiled:
    """Has what its pattern has, as attributes of its own: as quick to ask as the pattern."""


class _Uncompiled(_Compiled):
    """Compiles its pattern when anything of it is asked for, and becomes it."""

    def __init__(self, compiled: Callable[[], re.Pattern[Any]]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> object:
        if name not in _OF_A_PATTERN:
            raise AttributeError(name)
        pattern = self._compiled()
        for one in _OF_A_PATTERN:  # two threads do the same here, and neither harm
            setattr(self, one, getattr(pattern, one))
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(pattern, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, which is called at the first use.

    Args:
        text: the expression; a test compiles each of the program's, so none fails late.
        flags: as `re.compile` takes them.
    """
    return cast("re.Pattern[AnyStr]", _Uncompiled(lambda: re.compile(text, flags)))
