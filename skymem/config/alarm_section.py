"""The `alarms:` section of `retention_rules.yaml`: what is an alarm, and who is told (row X3)."""

from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.addresses import absolute_path, safe_address, variable
from skymem.config.key import Key
from skymem.config.keys import nearest
from skymem.config.problems import Complaints, shown
from skymem.config.readers import NONE, Setting, Settings, seconds
from skymem.config.units import format_size
from skymem.config.yaml_nodes import Pair, Scalar
from skymem.model.alarm import ALARMS

WORDS_MAX: Final = 64
"""Of a command."""


def _words(pair: Pair, key: Key, complaints: Complaints) -> list[Scalar] | None:
    if fields.says_none(pair):
        return []
    found = fields.items(pair, key, complaints)
    if found is None:
        return None
    words = [one for one in found.items if isinstance(one, Scalar) and one.text]
    if len(words) == len(found.items) <= WORDS_MAX:
        return words
    complaints.at(found, f"{key.name} must be a list of words (such as {key.example})")
    return None


def _ids(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    words = _words(pair, key, complaints)
    for word in words or ():
        if word.text not in ALARMS:
            near = nearest(word.text, tuple(ALARMS))
            remedy = f'did you mean "{near}"?' if near else "all ids: skymem alarms --explain all"
            complaints.at(word, f"no alarm has the id {shown(word.text)} ({remedy})")
    return None if words is None else tuple(dict.fromkeys(word.text for word in words))


def _command(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    """What is started: by its absolute path, since the daemon's search path is anybody's guess."""
    words = _words(pair, key, complaints)
    if words and not PurePosixPath(words[0].text).is_absolute():
        remedy = f"such as {key.example}"
        complaints.at(words[0], f"{key.name} is to begin with an absolute path ({remedy})")
        return None
    return None if words is None else tuple(word.text for word in words)


def _webhook(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    parts = safe_address(pair, key, complaints, "message and token")
    return None if parts is None else parts.geturl()


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) or NONE


ALARM_SETTINGS: Final[Settings] = MappingProxyType(
    {
        "runs": Setting("runs", fields.whole),
        "idle": seconds("idle_seconds"),
        "backlog_runs": Setting("backlog_runs", fields.whole),
        "unread": seconds("unread_seconds"),
        "disk_free": Setting("disk_free_bytes", fields.size, format_size, optional=True),
        "off": Setting("off", _ids, _listed),
        "command": Setting("command", _command, _listed),
        "webhook": Setting("webhook", _webhook, optional=True),
        "token_env": Setting("token_env", variable, optional=True),
        "token_file": Setting("token_file", absolute_path, optional=True),
        "look": seconds("look_seconds"),
        "hold": seconds("hold_seconds"),
        "quiet": seconds("quiet_seconds"),
        "deadline": seconds("deadline_seconds"),
    }
)
"""Each key with how it is read and written."""
