"""The configuration keys of `api:`, who may come through its door and where that is (row M7)."""

from typing import Final

from skymem.config.key import API, RULES_FILE, TOP, Key
from skymem.model.api import TOKEN_FILE

API_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "api", "mapping", "none",
        "Who may use the API that `skymem serve` opens: its owner, and whom this names.",
        "api: {agents: {1001: [hobbs]}}", "M7",
    ),
    Key(
        RULES_FILE, API, "agents", "mapping", "none",
        "The agents that processes of a user may work as, by uid. Any other uid is refused.",
        "agents: {1001: [hobbs]}", "M7",
    ),
    Key(
        RULES_FILE, API, "reach", "word", "home",
        "Who may connect to the socket: whom `access` lets at the files, or everyone, told by uid.",
        "reach: home", "M7", choices=("home", "everyone"),
    ),
    Key(
        RULES_FILE, API, "tcp", "127.0.0.1:PORT or none", "none",
        "Where the API listens beside its socket, for who shows a token.",
        "tcp: 127.0.0.1:8321", "H5",
    ),
    Key(
        RULES_FILE, API, "token_file", "path", TOKEN_FILE,
        "One token a line, for TCP: alone it is the operator's, or the agents it is for follow. "
        "From the home where it isn't absolute; made where there is none.",
        "token_file: run/api.token", "H5",
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
