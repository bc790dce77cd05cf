"""Where something is that is not in the home: URLs, files and variables, read from the YAML files.

None of them may hold a secret: what looks as if it did is refused without being shown.
"""

import ipaddress
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import SplitResult, urlsplit

from skymem.config import fields
from skymem.config.key import Key
from skymem.config.problems import Complaints, shown
from skymem.config.yaml_nodes import Pair
from skymem.model.regex import regex

# Capitals only: whoever pastes a key here by mistake is told, before a message shows it.
_VARIABLE: Final = regex(r"[A-Z_][A-Z0-9_]{0,63}")


def address(pair: Pair, key: Key, complaints: Complaints) -> SplitResult | None:
    """A URL that calls can be made below; one that holds a secret is refused unshown."""
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    parts = _split(found.text)
    if parts is None:
        remedy = f"such as {key.example}"
        complaints.at(found, f"{key.name}: {shown(found.text)} is no http or https URL ({remedy})")
        return None
    if "@" in parts.netloc or parts.query or parts.fragment:
        remedy = f"write host and path alone; a secret goes where {_SECRETS[key.name]} says"
        complaints.at(found, f"{key.name} holds more than an address ({remedy})")
        return None
    return parts


def safe_address(pair: Pair, key: Key, complaints: Complaints, sent: str) -> SplitResult | None:
    """An address that may be sent what is secret: without TLS only where no network is between."""
    parts = address(pair, key, complaints)
    if parts is None or parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return parts
    remedy = "write https; plain http is for 127.0.0.1, ::1 and localhost alone"
    complaints.at(pair.value, f"{key.name}: {sent} would go unencrypted ({remedy})")
    return None


_SECRETS: Final = {
    "endpoint": "key_env",
    "url": "token_env or token_file",
    "webhook": "token_env or token_file",
}


def is_loopback(host: str) -> bool:
    """Whether no network lies between here and there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _split(text: str) -> SplitResult | None:
    """Take a URL apart; None for one of no host, another scheme, no valid port, or with blanks."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    plain = text.isprintable() and not any(character.isspace() for character in text)
    return parts if usable and plain else None


def variable(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """The name of an environment variable; what is none may be the secret: it isn't shown."""
    found = fields.scalar(pair, key, complaints)
    if found is None or _VARIABLE.fullmatch(found.text):
        return None if found is None else found.text
    remedy = f"A-Z, 0-9 and _, such as {key.example}; a key itself never goes into this file"
    complaints.at(found, f"{key.name} is no name of an environment variable ({remedy})")
    return None


def absolute_path(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """The absolute path of a file; what is none may be the secret: it isn't shown."""
    found = fields.scalar(pair, key, complaints)
    if found is None or PurePosixPath(found.text).is_absolute():
        return None if found is None else found.text
    complaints.at(found, f"{key.name} is no absolute path (such as {key.example})")
    return None
