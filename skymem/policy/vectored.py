"""Which memories of long-term and archives should have a vector (row P15).

All but those that something else took the place of: readers pass them over, so their vector would
be one too many. Their words stay where they are, and with them all that is asked of history.
"""

from collections.abc import Iterable, Mapping, Sequence

from skymem.policy.standing import Chains, Link, passed_on


def without_vector(links: Iterable[Link], removed: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Name those that should have no vector; every other memory should have one.

    Only what stands for good counts: neither what short-term says, whose lines come and go, nor
    that of a single kind only the newest is active, which ends when that one expires.

    Args:
        links: each `supersedes` of what is in long-term or an archive.
        removed: what each memory in trash supersedes.
    """
    known = [*links]
    known += [link for link, _ in passed_on(known, removed)]
    return frozenset(Chains.of(known).superseded())
