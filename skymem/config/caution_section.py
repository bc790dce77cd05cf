"""How the sections about secrets and trust are read, and shown again (row X11)."""

import re
from collections.abc import Sequence
from typing import Final

from skymem.config import fields
from skymem.config.key import Key
from skymem.config.problems import Complaints, shown
from skymem.config.readers import NONE, Setting, Settings
from skymem.config.yaml_nodes import Pair, Scalar


def share(pair: Pair, key: Key, complaints: Complaints) -> float | None:
    """A number from 0 to 1, whole or not."""
    found = fields.number(pair, key, complaints)
    return None if found is None else float(found)


def patterns(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    """Regular expressions, one or a list; each that is none is complained about."""
    if fields.says_none(pair):
        return ()
    if isinstance(pair.value, Scalar):
        found = [pair.value] if fields.has_value(pair, key, complaints) else []
    else:
        listed = fields.items(pair, key, complaints)
        found = [one for one in listed.items if isinstance(one, Scalar)] if listed else []
    for one in found:
        try:
            re.compile(one.text)
        except re.error as error:
            complaints.at(one, f"{key.name}: {shown(one.text)} is no regular expression: {error}")
    return tuple(one.text for one in found if one.text)


def _shown(each: Sequence[str]) -> str:
    """Several as the one that means the same."""
    if len(each) > 1:
        return "|".join(f"(?:{one})" for one in each)
    return each[0] if each else NONE


SECRET_SETTINGS: Final[Settings] = {
    "on": Setting("on", fields.choice),
    "personal": Setting("personal", fields.truth),
    "allow": Setting("allow", patterns, _shown),
}
TRUST_SETTINGS: Final[Settings] = {
    "user": Setting("user", share),
    "agent": Setting("agent", share),
    "tool": Setting("tool", share),
    "document": Setting("document", share),
    "import": Setting("imported", share),
    "needed": Setting("needed", share),
}
