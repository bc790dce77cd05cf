"""The steps from one format of a home to the next, in order: a new format is a new step at the end.

A step may be cut short anywhere, and is then taken again from its beginning: so it finds out for
itself what it has done already. It is taken while every agent's job lock is held, and the home says
that it is in the next format only when the step has returned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from skymem.app import Home
from skymem.errors import DamageFoundError
from skymem.home_files import look_at_files


class UnsoundHomeError(DamageFoundError):
    """the home is not as it should be: {0}"""

    hint = "nothing was changed; see: skymem doctor"


@dataclass(frozen=True, slots=True)
class Step:
    """One step, from the format before its number to its number."""

    to: int
    take: Callable[[Home], None]


def number_the_format(home: Home) -> None:
    """0 → 1: nothing stands otherwise than before, but the home says so.

    Which takes it to be one: each of its files that work would stop on is looked at.

    Raises:
        UnsoundHomeError: one of them is damaged.
    """
    for finding in look_at_files(home, home.workplace().agents()):
        if finding.problem:
            raise UnsoundHomeError(finding.text)


STEPS: Final[Sequence[Step]] = (Step(1, number_the_format),)
"""All of them; the last one's number is `home_format.CURRENT`.

Where one changes what stands, jobs need it: `home_format.WORKED_ON` is then its number.
"""
