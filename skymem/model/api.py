"""Who may come through the API's door (row M7), and where that door is."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Reach = Literal["home", "everyone"]

TOKEN_FILE = "run/api.token"  # noqa: S105  (where it lies, not what it is)


class ApiRules(NamedTuple):
    """The section `api:`; nothing of it opens a door by itself: `skymem serve` does."""

    agents: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    """The agents that processes of a user may work as, by uid; who isn't named is refused."""

    reach: Reach = "home"
    """Who may connect: whom `access` lets at the home's files, or everyone, who is then told
    apart by uid."""

    tcp_port: int | None = None
    """Of 127.0.0.1; None: the UNIX socket alone."""

    token_file: str = TOKEN_FILE
    """From the home, where it is not absolute; over TCP nobody's uid is known."""


NO_API = ApiRules()
