"""The configuration keys about secrets and trust (row X11)."""

from typing import Final

from skymem.config.key import RULES_FILE, SECRETS, TOP, TRUST, Key
from skymem.model.caution import TrustRules

_TRUST: Final = TrustRules()


def _believed(name: str, default: float, whom: str) -> Key:
    return Key(
        RULES_FILE, TRUST, name, "number", f"{default}",
        f"How far a memory {whom} is believed, at most.", f"{name}: {default:g}", "X11", 0, 1,
    )  # fmt: skip


CAUTION_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "secrets", "mapping", "none", "What becomes of secrets in memories.",
        "secrets: {on: redact, personal: false}", "X11",
    ),
    Key(
        RULES_FILE, SECRETS, "on", "word", "redact",
        "At a door a secret is redacted, or refused with the memory; what comes by `echo` is "
        "redacted before it is copied. `keep` does nothing.",
        "on: redact", "X11", choices=("redact", "refuse", "keep"),
    ),
    Key(
        RULES_FILE, SECRETS, "personal", "true or false", "false",
        "Whether mail addresses, phone numbers, IBANs and card numbers count as secrets.",
        "personal: true", "X11",
    ),
    Key(
        RULES_FILE, SECRETS, "allow", "list", "none",
        "Regular expressions; what one of them is found in is no secret.",
        "allow: ['^test-']", "X11",
    ),
    Key(
        RULES_FILE, TOP, "trust", "mapping", "none",
        "How far memories are believed by where they came from.",
        "trust: {tool: 0.5, document: 0.5}", "X11",
    ),
    _believed("user", _TRUST.user, "of a user"),
    _believed("agent", _TRUST.agent, "of an agent, or without an origin,"),
    _believed("tool", _TRUST.tool, "of a tool"),
    _believed("document", _TRUST.document, "of a document"),
    _believed("import", _TRUST.imported, "that was imported"),
    Key(
        RULES_FILE, TRUST, "needed", "number", f"{_TRUST.needed:g}",
        "What is believed less is never promoted as a rule, a preference or an instruction.",
        f"needed: {_TRUST.needed:g}", "X11", 0, 1,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
