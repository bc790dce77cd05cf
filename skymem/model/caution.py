"""How careful a home is: what becomes of secrets, and how far each origin is believed (row X11)."""

from typing import Final, Literal, NamedTuple


class SecretRules(NamedTuple):
    """What becomes of secrets."""

    on: Literal["redact", "refuse", "keep"] = "redact"
    """At a door; what came by another way is redacted where `refuse` is wanted."""

    personal: bool = False
    """Whether personal data count as secrets: mail addresses, phones, accounts, cards."""

    allow: tuple[str, ...] = ()
    """Regular expressions; what one is found in is no secret."""


class TrustRules(NamedTuple):
    """How far a memory is believed, 0 to 1, by where it came from; a line may say less of itself.

    One without an origin is weighed as an agent's: agents append such lines.
    """

    user: float = 1.0
    agent: float = 0.8
    tool: float = 0.5
    document: float = 0.5
    imported: float = 0.5
    needed: float = 0.6
    """What is believed less gives no rule and no preference, and tells nobody what to do."""


USUAL_SECRETS: Final = SecretRules()
USUAL_TRUST: Final = TrustRules()
"""Of a home that says nothing about it."""
