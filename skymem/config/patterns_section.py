"""How the `patterns:` section of `retention_rules.yaml` is read (row W10)."""

from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import Key
from skymem.config.problems import Complaints
from skymem.config.readers import NONE, Setting, Settings
from skymem.config.yaml_nodes import Pair, Scalar


def names(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    """A list of names of tenants; whether there are such is not looked at."""
    if fields.says_none(pair):
        return ()
    found = fields.items(pair, key, complaints)
    if found is None:
        return None
    texts: list[str] = []
    for one in found.items:
        if isinstance(one, Scalar) and one.text.strip():
            texts.append(one.text)
        else:
            complaints.at(one, f"{key.name}: a name is expected here (such as {key.example})")
    return tuple(dict.fromkeys(texts))


PATTERN_SETTINGS: Final[Settings] = MappingProxyType(
    {
        "give": Setting("give", names, lambda each: ", ".join(each) or NONE),
        "take": Setting("take", names, lambda each: ", ".join(each) or NONE),
        "tenants_least": Setting("tenants_least", fields.whole),
    }
)
"""Each key with how it is read."""
