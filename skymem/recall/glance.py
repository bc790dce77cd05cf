"""Whether a line could be among the best, told from its bytes: most need not be read at all.

Reading a line as JSON and splitting its text into words costs several times what looking for the
query's words in its bytes does. The answer is never no for a line that could, so that no result is
missed; a property test holds it to that.
"""

from collections.abc import Set as AbstractSet
from typing import Final

from skymem.model.memory import read_time
from skymem.model.regex import regex
from skymem.model.strict_json import LineDamage
from skymem.policy.rank import IMPORTANCE_WEIGHT, MICROSECONDS_PER_HOUR

# A number or a text: what a time can be. A key inside another object matches too, which can only
# make a line look newer.
_TIME: Final = regex(rb'"(?:ts|timestamp)"[ \t\r\n]*:[ \t\r\n]*("[^"]*"|[-+0-9.eE]+)')

_ESCAPE: Final = b"\\u"
"""A line with one may spell any letter, of a word or of a key, so that its bytes say nothing."""

TOKENS_MAX: Final = 32
"""Words of a query that are looked for: with 64, reading the line has been cheaper."""

_ROUNDING: Final = 1e-9
"""By how much sums taken in another order may differ, and more."""

_ROUNDING_US: Final = 2_000_000


class Glance:
    """Looks at lines for one query."""

    def __init__(self, tokens: AbstractSet[str], bias: float, now_us: int) -> None:
        self._ascii = [token.encode() for token in tokens if token.isascii()]
        self._all = list(tokens)
        self._for_a_token = (1 - bias) / len(tokens) if tokens else 0.0
        self._bias = bias
        self._now_us = now_us

    def reaches(self, raw: bytes, floor: float) -> bool:
        """Whether a memory of this line could have a deterministic score of `floor` or more."""
        rest = floor - IMPORTANCE_WEIGHT - _ROUNDING
        # One letter is found ten times as fast as two: nearly no line has any escape.
        if rest <= 0 or len(self._all) > TOKENS_MAX or (b"\\" in raw and _ESCAPE in raw):
            return True
        if raw.isascii():
            lower = raw.lower()
            for word in self._ascii:
                if word in lower:
                    rest -= self._for_a_token
        else:
            # Casefolding goes letter by letter, so what holds a word holds its casefolded form.
            text = raw.decode("utf-8", "replace").casefold()
            for token in self._all:
                if token in text:
                    rest -= self._for_a_token
        if rest <= 0:
            return True
        return rest <= self._bias and self._is_as_recent(raw, rest / self._bias)

    def _is_as_recent(self, raw: bytes, recency: float) -> bool:
        """Whether a time in the line could be recent enough for that much recency."""
        age_us = (1 / recency - 1) * MICROSECONDS_PER_HOUR
        oldest_us = self._now_us - age_us - _ROUNDING_US
        for spelled in _TIME.findall(raw):  # noqa: SIM110  (any() takes half as long again here)
            if _time_us(spelled) >= oldest_us:
                return True
        return False


def _time_us(spelled: bytes) -> float:
    """Read what may be a time; what is none is not the memory's own, or the line is damaged."""
    try:
        if spelled.startswith(b'"'):
            return read_time("", spelled[1:-1].decode()) or 0
        return float(spelled) * 1_000_000
    except (LineDamage, ValueError):
        return -1.0
