"""Transcripts of calls: WebVTT, SubRip and JSON; who said what, and when in the call."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from skymem.policy.chunks import Block
from skymem.working.readers.reading import (
    OtherError,
    Read,
    UnreadableError,
    cleaned,
    decoded,
    one_line,
)

TURNS_MAX: Final = 200_000
TURN_CHARS: Final = 600
"""Cues of one speaker are one turn up to here; then the next begins, with its own time."""

_CUE: Final = re.compile(
    r"((?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3})\s+-->\s+(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
)
_VOICE: Final = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_TAG: Final = re.compile(r"<[^>]{0,100}>")
_NAMED: Final = re.compile(r"\A([^\W\d_][\w .'’()-]{0,40}?):\s+(?=\S)")
_CLOCK: Final = re.compile(r"(?:(\d+):)?(\d{1,3}):(\d{1,2}(?:[.,]\d+)?)")

_LISTS: Final = ("segments", "utterances", "turns", "entries", "transcript", "cues", "results")
_TEXTS: Final = ("text", "content", "transcript", "utterance")
_SPEAKERS: Final = ("speaker", "speaker_name", "speaker_label", "name", "user", "participant")
_STARTS: Final = ("start", "start_time", "startTime", "offset", "timestamp", "time", "ts")
_DATES: Final = ("started_at", "start_time", "date", "recorded_at", "created_at", "time")


class Turn(NamedTuple):
    """What one person said at one go."""

    speaker: str
    text: str
    seconds: float | None
    """Since the call began."""

    time_us: int | None = None


def read_vtt(data: bytes, name: str) -> Read:
    """Read WebVTT.

    Raises:
        UnreadableError: it is none, or nobody says anything.
    """
    text, note = decoded(data)
    if not text.startswith("WEBVTT"):
        raise UnreadableError('is no WebVTT: it does not begin with "WEBVTT"')
    return _talk(text, name, note)


def read_srt(data: bytes, name: str) -> Read:
    """Read SubRip.

    Raises:
        UnreadableError: it is none, or nobody says anything.
    """
    text, note = decoded(data)
    return _talk(text, name, note)


def read_json(data: bytes, name: str) -> Read:
    """Read a transcript as JSON: a list of turns, by whichever of the usual names.

    Raises:
        UnreadableError: it is none.
    """
    text, note = decoded(data)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableError("is no JSON, or not whole") from None
    began = _began(found) if isinstance(found, Mapping) else None
    title = found.get("title") if isinstance(found, Mapping) else None
    told = one_line(title) if isinstance(title, str) else ""
    return _read(_turns(_list_of(found), began), told or name, note)


def _talk(text: str, name: str, note: str) -> Read:
    turns = list(_cues(text))
    if not turns:
        raise UnreadableError("has no cue that can be read")
    return _read(turns, name, note)


def _read(turns: Iterable[Turn], name: str, note: str) -> Read:
    blocks = [_block(turn, name) for turn in _joined(turns)]
    if not blocks:
        raise OtherError("is no transcript: nobody says anything in it")
    if len(blocks) > TURNS_MAX:
        raise UnreadableError(f"has more than {TURNS_MAX:,} turns; split it")
    return Read(blocks, note)


def _block(turn: Turn, name: str) -> Block:
    said = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
    place: dict[str, str | int] = {}
    if turn.seconds is not None:
        whole = int(turn.seconds)
        place["at"] = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    if turn.speaker:
        place["speaker"] = turn.speaker
    return Block(said, tuple(place.items()), (), name, turn.time_us, tight=True)


def _joined(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Put together what one speaker says in several cues."""
    open_: Turn | None = None
    for turn in turns:
        if open_ and open_.speaker == turn.speaker and len(open_.text) < TURN_CHARS:
            open_ = open_._replace(text=f"{open_.text} {turn.text}")
            continue
        if open_:
            yield open_
        open_ = turn
    if open_:
        yield open_


def _cues(text: str) -> Iterator[Turn]:
    speaker = ""
    for part in re.split(r"\n[ \t]*\n", text):
        lines = part.strip("\n").split("\n")
        at = next((n for n, line in enumerate(lines[:2]) if _CUE.match(line.strip())), None)
        if at is None:
            continue
        said = "\n".join(lines[at + 1 :])
        cue = _CUE.match(lines[at].strip())
        seconds = _seconds(cue[1]) if cue else None
        voice = _VOICE.search(said)
        words = " ".join(html.unescape(_TAG.sub("", said)).split())
        named = _NAMED.match(words)
        if voice:
            speaker = one_line(voice[1])
        elif named:
            speaker, words = one_line(named[1]), words[named.end() :]
        if words:
            yield Turn(speaker, words, seconds)


def _list_of(found: Any) -> list[Any]:
    if isinstance(found, list):
        return found
    for name in _LISTS if isinstance(found, Mapping) else ():
        inner = found.get(name)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, Mapping) and inner is not found:
            return _list_of({key: value for key, value in inner.items() if isinstance(value, list)})
    raise OtherError("is no transcript: there is no list of turns in it")


def _turns(found: list[Any], began: datetime | None) -> Iterator[Turn]:
    for one in found[: TURNS_MAX * 10]:
        if not isinstance(one, Mapping):
            continue
        text = next((one[name] for name in _TEXTS if isinstance(one.get(name), str)), "")
        words = " ".join(cleaned(text).split())
        if not words:
            continue
        seconds, when = _when(one)
        if when is None and began is not None and seconds is not None:
            when = began.timestamp() + seconds
        time_us = None if when is None or not 0 <= when < 2**32 else round(when * 1_000_000)
        yield Turn(_speaker(one), words, seconds, time_us)


def _speaker(one: Mapping[str, Any]) -> str:
    for name in _SPEAKERS:
        value = one.get(name)
        if isinstance(value, Mapping):
            value = value.get("name")
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return one_line(str(value))
    return ""


def _when(one: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Seconds since the call began, or the moment itself."""
    for name in _STARTS:
        value = one.get(name)
        if isinstance(value, int | float) and 0 <= value < 2**40:  # NaN is neither
            return (None, float(value)) if value > 10**8 else (float(value), None)
        if isinstance(value, str):
            if _CLOCK.fullmatch(value.strip()):
                return _seconds(value.strip()), None
            moment = _moment(value)
            if moment is not None:
                return None, moment.timestamp()
    return None, None


def _began(found: Mapping[str, Any]) -> datetime | None:
    moments = (_moment(found[name]) for name in _DATES if isinstance(found.get(name), str))
    return next((one for one in moments if one is not None), None)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _seconds(text: str) -> float | None:
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
