"""The doors by which new memories come in: their form, their secrets, their trust, then the disk.

One way for the CLI, the Python API and whoever writes for an agent (rows M3, X11): what the home's
rules say of new memories is said here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skymem.policy.form import Admitted, admit_fields, admit_lines, check_field
from skymem.policy.secrets import guard_of
from skymem.policy.trust import given
from skymem.stores.counts import note_redacted

if TYPE_CHECKING:
    from skymem.app import Home


def new_memory(
    home: "Home",
    content: str,
    *,
    now: float,
    tags: Sequence[str] = (),
    importance: float | None = None,
    origin: str | None = None,
    trust: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Admitted:
    """Make a new line that may come in; it is not written yet.

    Raises:
        InvalidMemoryError: a field is outside its range, or it is believed more than its origin.
    """
    check_field("origin", origin)
    check_field("trust", trust)
    return admit_fields(
        content,
        limit=home.rules.line_bytes_max,
        now=now,
        tags=tags,
        importance=importance,
        extra={**(extra or {}), **given(origin, trust, home.rules.trust)},
        guard=guard_of(home.rules.secrets),
    )


def new_lines(home: "Home", data: bytes, *, now: float) -> list[Admitted]:
    """Check JSON lines that a writer spelled; they are not written yet.

    Raises:
        InvalidMemoryError: names every line that can't be admitted; then none is.
    """
    guard = guard_of(home.rules.secrets)
    return admit_lines(data, limit=home.rules.line_bytes_max, now=now, guard=guard)


def take_in(home: "Home", agent: str, admitted: Sequence[Admitted]) -> None:
    """Append lines to an agent's short-term; returns once they are on disk.

    Raises:
        AgentNameError, NotAllowedError, DiskError: none of them stays.
    """
    home.remember(agent, [one.raw for one in admitted])
    note_redacted(home.paths, home.files, agent, redacted(admitted))


def redacted(admitted: Sequence[Admitted]) -> dict[str, int]:
    """The secrets that were taken out of lines, by kind."""
    kinds: Counter[str] = Counter()
    for one in admitted:
        kinds.update(one.redacted)
    return dict(kinds)
