"""A Slack export: a directory with `channels.json`, `users.json` and one of days for each channel.

Each channel is a document. What was answered in a thread stands together, whatever day it came on;
the rest of a day is one section.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from skymem.policy.chunks import Block
from skymem.working.readers.reading import Read, UnreadableError, cleaned, decoded, one_line

CHANNELS: Final = "channels.json"
USERS: Final = "users.json"
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_MARK: Final = re.compile(r"<([@#!]?)([^<>|]{1,500})(?:\|([^<>]{0,500}))?>")
_UNSAID: Final = frozenset(
    {"channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name",
     "channel_archive", "bot_add", "group_join", "group_leave"}
)  # fmt: skip


class Message(NamedTuple):
    """One message of a channel."""

    day: str
    """The file it is in."""

    ts: str
    thread: str
    """The `ts` of the first message of its thread; "" for what stands alone."""

    who: str
    text: str

    @property
    def seconds(self) -> float:
        """When it was written, epoch seconds."""
        return float(self.ts)


def names_of(data: bytes) -> dict[str, str]:
    """The names of the users, by their ids.

    Raises:
        UnreadableError: it is no list of users.
    """
    found = {}
    for one in _list(data):
        profile = one.get("profile")
        held = profile if isinstance(profile, Mapping) else {}
        names = (held.get("real_name"), one.get("real_name"), one.get("name"))
        name = next((each for each in names if isinstance(each, str) and each.strip()), "")
        if isinstance(one.get("id"), str) and name:
            found[one["id"]] = one_line(name)
    return found


def read(days: Iterable[tuple[str, bytes]], channel: str, names: Mapping[str, str]) -> Read:
    """Read a channel.

    Args:
        days: its files by name, with what is in them.
        channel: its name.
        names: of users, by their ids.

    Raises:
        UnreadableError: none of its files can be read, or nobody says anything.
    """
    messages: list[Message] = []
    damaged: list[str] = []
    for day, data in days:
        try:
            messages += _messages(day, data, names)
        except UnreadableError as error:
            damaged.append(f"{day} {error}")
    if not messages:
        raise UnreadableError(damaged[0] if damaged else "nobody says anything in it")
    return Read(list(_blocks(messages, channel)), "; ".join(damaged[:3]))


def _blocks(messages: list[Message], channel: str) -> Iterator[Block]:
    messages.sort(key=lambda one: one.seconds)
    started = {one.thread for one in messages if one.thread}
    groups: dict[tuple[str, ...], list[Message]] = {}
    for one in messages:
        thread = one.thread or (one.ts if one.ts in started else "")
        groups.setdefault(("thread", thread) if thread else ("day", one.day), []).append(one)
    for key, group in groups.items():
        day = datetime.fromtimestamp(group[0].seconds, UTC).strftime("%Y-%m-%d")
        top = f"Slack #{channel}, {day}" + (", thread" if key[0] == "thread" else "")
        for one in group:
            place: dict[str, str | int] = {"file": one.day, "channel": channel, "message": one.ts}
            if key[0] == "thread":
                place["thread"] = key[1]
            said = f"{one.who}: {one.text}" if one.who else one.text
            time_us = round(one.seconds * 1_000_000)
            yield Block(said, tuple(place.items()), key, top, time_us, tight=True)


def _messages(day: str, data: bytes, names: Mapping[str, str]) -> Iterator[Message]:
    for one in _list(data):
        ts, text = one.get("ts"), one.get("text")
        if not isinstance(text, str) or not _is_ts(ts) or one.get("subtype") in _UNSAID:
            continue
        said = cleaned(_plain(text, names)).strip()
        thread = one.get("thread_ts")
        if said:
            yield Message(
                day, str(ts), str(thread) if _is_ts(thread) else "", _who(one, names), said
            )


def _who(one: Mapping[str, Any], names: Mapping[str, str]) -> str:
    user = one.get("user")
    if isinstance(user, str) and user in names:
        return names[user]
    profile = one.get("user_profile")
    held = profile.get("real_name") if isinstance(profile, Mapping) else None
    told = (held, one.get("username"), user)
    return one_line(next((each for each in told if isinstance(each, str) and each.strip()), ""))


def _plain(text: str, names: Mapping[str, str]) -> str:
    """A message as it is shown: people, channels and links by their names."""

    def shown(mark: re.Match[str]) -> str:
        sign, what, label = mark[1], mark[2], mark[3]
        if sign == "@":
            return "@" + (label or names.get(what, what))
        if sign == "#":
            return "#" + (label or what)
        if sign == "!":
            return "@" + (label or what).lstrip("@")
        return f"{label} ({what})" if label and label != what else what

    return html.unescape(_MARK.sub(shown, text))


def _list(data: bytes) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(decoded(data)[0])
    except (ValueError, RecursionError):
        raise UnreadableError("is no JSON, or not whole") from None
    if not isinstance(found, list):
        raise UnreadableError("is no list")
    return [one for one in found if isinstance(one, Mapping)]


def _is_ts(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d{1,10}(\.\d{1,9})?", value))
