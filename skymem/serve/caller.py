"""Who asks, and as which agents: by the uid of the peer, or by the token shown (row M7)."""

import hmac
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from skymem.app import Home, now
from skymem.errors import ConfigurationError, NotAllowedError, SkymemError, UsageError
from skymem.model.api import ApiRules
from skymem.policy.admit import agent_name_fault
from skymem.policy.bound import EVERYONE
from skymem.serve.refusal import RefusedError
from skymem.stores.files import Files, disk_errors
from skymem.stores.violations import Crossing

ROOT: Final = 0
TOKEN_CHARS_MIN: Final = 16
"""A shorter one could be guessed."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is at the other end of a connection."""

    name: str
    """As the ledger names it."""

    operator: bool = False
    """Whether it is the owner of the home, who may do everything."""

    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the token file."""

    secret: bytes
    caller: Caller


def by_uid(uid: int, owner: int, rules: ApiRules) -> Caller:
    """Who a peer is: root can be the owner at any time, and is."""
    named = rules.agents.get(uid, ())
    return Caller(f"uid {uid}", operator=uid in (owner, ROOT), agents=named)


def by_token(shown: bytes, tokens: Sequence[Token]) -> Caller | None:
    """Whose token was shown, in the same time whichever it is; None: nobody's."""
    found = None
    for token in tokens:
        if hmac.compare_digest(token.secret, shown):
            found = token.caller
    return found


def bind(home: Home, caller: Caller, agent: str) -> Home:
    """Give a handle to one agent, where the caller may work as it.

    Raises:
        AgentNameError: the name is not allowed.
        NotAllowedError: it may not; that is on record as a violation.
    """
    if caller.operator or agent in caller.agents:
        return home.bind(agent)
    if not caller.agents:
        refuse(home, caller, "?" if agent_name_fault(agent) else agent)
    own = home.bind(caller.agents[0])
    own.admit(agent, writing=True)
    raise own.workplace().crossing(agent)  # what its rules lend it is not asked for by this name


def only_operator(home: Home, caller: Caller) -> None:
    """Refuse what is about the whole home to everybody else.

    Raises:
        NotAllowedError: it is not the operator; that is on record as a violation.
    """
    if not caller.operator:
        refuse(home, caller, EVERYONE)


def refuse(home: Home, caller: Caller, whose: str) -> NoReturn:
    """Record that somebody reached for what is not theirs, and refuse it in any case.

    Raises:
        NotAllowedError: always.
    """
    name = caller.agents[0] if caller.agents else caller.name
    try:
        home.workplace().violations().note(Crossing(name, whose, home.door), now())
    except (SkymemError, OSError) as error:
        recorded = f"the violation could not be recorded: {error}"
    else:
        recorded = "the violation is on record"
    what = "the whole home" if whose == EVERYONE else f"agent {whose}"
    raise NotAllowedError(f"{caller.name} may not touch {what}; {recorded}")


def must_be_there(home: Home, agent: str) -> None:
    """Refuse to read of an agent there is not.

    Raises:
        RefusedError: 404.
    """
    try:
        home.agents(agent)
    except UsageError as error:
        raise RefusedError(404, f'no agent "{agent}" here', code=error.exit_code) from None


def read_tokens(path: Path, files: Files) -> tuple[Token, ...]:
    """The tokens that open the TCP door; the file is made, with one, where there is none.

    Raises:
        ConfigurationError: it is not private, or a line is none; DiskError.
    """
    if not os.path.lexists(path):
        files.make_directory(path.parent)
        files.replace(path, secrets.token_urlsafe(32).encode() + b"\n")
        with disk_errors(path):
            os.chmod(path, 0o600)
    with disk_errors(path):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as stream:
            status = os.fstat(fd)
            text = stream.read(65536) if stat.S_ISREG(status.st_mode) else b""
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise ConfigurationError(f"{path}: others can read the API's tokens (chmod 600 it)")
    lines = [line.split() for line in text.splitlines() if not line.startswith(b"#")]
    tokens = tuple(_token(number, words, path) for number, words in enumerate(lines, 1) if words)
    if not tokens:
        raise ConfigurationError(f"{path}: there is no token in it (remove it: one is made)")
    return tokens


def _token(number: int, words: list[bytes], path: Path) -> Token:
    secret, *names = words
    agents = tuple(name.decode("utf-8", "replace") for name in names)
    if len(secret) < TOKEN_CHARS_MIN:
        raise ConfigurationError(f"{path}:{number}: a token needs {TOKEN_CHARS_MIN} characters")
    if any(agent_name_fault(name) for name in agents):
        raise ConfigurationError(f"{path}:{number}: after the token go names of agents")
    return Token(secret, Caller(f"token {number}", operator=not agents, agents=agents))
