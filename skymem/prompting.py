"""What goes into a prompt and what comes of it: the context, and the hooks around a model's call.

One code path for the CLI and the Python API (rows N11 and R13).
"""

import os
import platform
import sys
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem import doors
from skymem.config.hook_variables import HookSettings, hook_settings
from skymem.errors import SkymemError
from skymem.policy.context import BUSINESS, DOCUMENTS
from skymem.policy.quoting import without_fenced
from skymem.recall.context import Context, want
from skymem.recall.context import context as read_context
from skymem.stores.recall_log import note_recalled
from skymem.working.layers import DOCUMENTS_MAX, Asked, Working, working

if TYPE_CHECKING:
    from skymem.app import Home


OTHERS: Final = frozenset({BUSINESS, DOCUMENTS})
"""Layers of what is the tenant's, and not the agent's own."""


class Beside(NamedTuple):
    """What of working memory is asked about, beside the message."""

    session: str | None = None
    """The conversation; that of `$SKYMEM_SESSION` when left out."""

    situation: Mapping[str, Any] = MappingProxyType({})
    """What conditions of preferences are compared with."""

    documents: int = DOCUMENTS_MAX
    """Passages of documents that fit the message; 0: none."""


CRUMB: Final = "crumb"
"""What was said of late; soon of no use (row R1)."""

AGENT: Final = "agent"
"""Where a reply comes from."""


def settings_of(home: "Home") -> HookSettings:
    """What the environment says of contexts and hooks.

    Raises:
        ConfigurationError: values that can't be.
    """
    return hook_settings(home.workplace().environment)


def context(  # noqa: PLR0913  (all but the first by name)
    home: "Home",
    agent: str,
    message: str = "",
    *,
    user_id: str | None = None,
    max_chars: int | None = None,
    limit: int | None = None,
    at_us: int | None = None,
    settings: HookSettings | None = None,
    beside: Beside | None = None,
) -> Context:
    """Make the block to put into a prompt.

    Args:
        home: where.
        agent: whose memory.
        message: what the prompt is about; without one the newest rules and summaries stand in it.
        user_id: whom it is for: what is another user's is left out.
        max_chars: how long it may be; as the environment says, else 8000, when left out.
        limit: how many memories it may hold; as the environment says, else any number.
        at_us: as it was at that moment, microseconds since the epoch; without working memory, which
            is of now.
        settings: what the environment says, where it was read already.
        beside: what else of working memory is asked about: conversation, situation, documents.

    Raises:
        UsageError: a value is outside its range.
        ConfigurationError: a value of the environment can't be.
        NotAllowedError: this process is not the home's owner.
    """
    usual = settings_of(home) if settings is None else settings
    wanted = want(
        message,
        user_id=user_id,
        chars_max=usual.chars_max if max_chars is None else max_chars,
        limit=usual.limit if limit is None else limit,
        at_us=at_us,
    )
    home.only_owner("recall")
    asked = Asked(message, user_id, *(beside or Beside()))
    found = Working(()) if at_us is not None else working(home, agent, asked)
    made = read_context(home.workplace(), agent, wanted, home.engine, machine(), found.layers)
    made.degraded.extend(one for one in found.degraded if one not in made.degraded)
    own = [layer for layer in made.layers if layer.name not in OTHERS]
    told = [piece.id for layer in own for piece in layer.pieces]
    if told and home.rules.recall_log and at_us is None:
        note_recalled(home.paths, home.files, agent, told, times=0)
    made.degraded.extend(home.faults)
    return made


def machine() -> list[str]:
    """What an agent needs to know of the machine to give it commands that work; no names on it."""
    system = os.uname()
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    version = ".".join(str(part) for part in sys.version_info[:3])
    known = f" ({name})" if name else ""
    return [f"{system.sysname} {system.release}{known}, {system.machine}; Python {version}"]


class Hooks:
    """What an agent calls before and after each call of its model.

    A hook never fails: an agent must answer also when its memory can't. What went wrong is warned
    of, and nothing is put into the prompt, or stored.
    """

    def __init__(self, home: "Home", agent: str) -> None:
        """Read the environment, once.

        Raises:
            ConfigurationError: a value of it can't be; names the variable.
        """
        self._home = home
        self._agent = agent
        self.settings = settings_of(home)

    def before(self, message: str, *, user_id: str | None = None) -> str:
        """Give what is to be put into the prompt for a message; "" when switched off."""
        if not self.settings.enabled:
            return ""
        try:
            made = context(
                self._home, self._agent, message, user_id=user_id, settings=self.settings
            )
        except SkymemError as error:
            _warn("nothing is put into the prompt", error)
            return ""
        return made.text

    def after(self, response: str, *, user_id: str | None = None) -> str | None:
        """Remember a model's reply as a crumb, without what it repeats of a context.

        Returns:
            The memory's id; None when nothing was stored: replies are only stored when the
            environment says so.
        """
        text = without_fenced(response).strip()
        if not (self.settings.enabled and self.settings.store_responses and text):
            return None
        from skymem.app import now

        extra = {"kind": CRUMB, "origin": AGENT} | ({"user_id": user_id} if user_id else {})
        try:
            line = doors.new_memory(self._home, text, now=now(), extra=extra)
            doors.take_in(self._home, self._agent, [line])
        except SkymemError as error:
            _warn("the reply is not stored", error)
            return None
        return line.id


def _warn(what: str, error: SkymemError) -> None:
    """Warn where the hook was called: three calls up."""
    warnings.warn(f"{what}: {error}", RuntimeWarning, stacklevel=3)
