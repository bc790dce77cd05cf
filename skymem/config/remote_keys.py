"""The configuration keys of a Chroma server that holds the vector index."""

from typing import Final

from skymem.config.key import ENGINE, REMOTE, RULES_FILE, Key
from skymem.config.units import format_duration
from skymem.model.rules import RemoteRules

_REMOTE: Final = RemoteRules("")


def _key(name: str, kind: str, default: str, meaning: str, example: str) -> Key:
    return Key(RULES_FILE, REMOTE, name, kind, default, meaning, example, "R14")


REMOTE_KEYS: Final = (
    Key(
        RULES_FILE, ENGINE, "remote", "mapping", "none",
        "A Chroma server that holds the vector index (see “A server for the vectors”).",
        "remote: {url: https://vectors.example.org}", "R14",
    ),
    _key(
        "url", "https URL, or http on a loopback address", "required",
        "Where the server answers.", "url: https://vectors.example.org",
    ),
    _key(
        "token_env", "name of an environment variable", "none",
        "Where the server's token is, in the environment of who starts the engine.",
        "token_env: CHROMA_TOKEN",
    ),
    _key(
        "token_file", "absolute path", "none",
        "Where the server's token is: one line, in a file of mode 0600 or 0400.",
        "token_file: /etc/skymem/chroma.token",
    ),
    _key(
        "ca_file", "absolute path", "none",
        "The authority (PEM) that its certificate must come from, in the place of the machine's.",
        "ca_file: /etc/skymem/ca.pem",
    ),
    Key(
        RULES_FILE, REMOTE, "timeout", "duration", format_duration(_REMOTE.timeout_seconds),
        "How long a recall, which has 2 seconds, waits for it before it does without.",
        "timeout: 0.5s", "R6", 0.1, 1.5,
    ),
    _key(
        "tenant", "word", _REMOTE.tenant, "The tenant of the server.", "tenant: default_tenant",
    ),
    _key(
        "database", "word", _REMOTE.database, "The tenant's database; it has to be there.",
        "database: default_database",
    ),
)  # fmt: skip
