"""The section `remote:` of `engine:`: the Chroma server that holds the index, if one does (R14)."""

from types import MappingProxyType
from typing import Any, Final

from skymem.config import fields
from skymem.config.addresses import absolute_path, safe_address, variable
from skymem.config.key import REMOTE, Key
from skymem.config.problems import Complaints
from skymem.config.readers import Setting, Settings, Shown, read_settings, seconds, show_settings
from skymem.config.yaml_nodes import Pair
from skymem.model.rules import RemoteRules

API: Final = "/api/v2"


def read_remote(pair: Pair, key: Key, complaints: Complaints) -> RemoteRules | None:
    """The server; None for `none`, and after a complaint."""
    if fields.says_none(pair):
        return None
    found = fields.table(pair, key, complaints)
    if found is None:
        return None
    values: dict[str, Any] = read_settings(found, REMOTE, _REMOTE, complaints)
    if found.get("url") is None:
        complaints.at(pair.key, f"remote has no url (such as {key.example})")
    if values.get("token_env") and values.get("token_file"):
        message = "token_env and token_file both say where the token is (remove one of them)"
        complaints.at(pair.key, message)
    return RemoteRules(**({"url": ""} | values))


def remote_values(remote: RemoteRules) -> dict[str, Shown]:
    """Each setting in force, as it is written in the file: where the token is, and never itself."""
    return show_settings(_REMOTE, remote)


def _url(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    parts = safe_address(pair, key, complaints, "vectors and token")
    return None if parts is None else parts.geturl().rstrip("/").removesuffix(API)


_REMOTE: Final[Settings] = MappingProxyType(
    {
        "url": Setting("url", _url),
        "token_env": Setting("token_env", variable, optional=True),
        "token_file": Setting("token_file", absolute_path, optional=True),
        "ca_file": Setting("ca_file", absolute_path, optional=True),
        "timeout": seconds("timeout_seconds"),
        "tenant": Setting("tenant", fields.text),
        "database": Setting("database", fields.text),
    }
)
