"""What is left of a memory when others that it was made of are erased (rows X5, R10).

A record or a summary says it again without their statements; what is left with none, or was made of
them in a way that can't be taken apart, goes with them. Whatever took the place of an erased memory
takes the place of what that had replaced as well, or the old would hold again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model import conversation
from skymem.model.memory import Memory
from skymem.model.records import PROFILE, PROJECT, content, from_payload

SUMMARY: Final = "summary"

IsGone = Callable[[str], bool]
"""Whether the memory of an id is being erased."""


def _unsaid(_text: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Erased:
    """What is being erased, as far as other memories have to do with it."""

    is_gone: IsGone
    bridges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of an erased memory that superseded others: those that stay."""

    is_said: Callable[[str], bool] = _unsaid
    """Whether words that a record quotes, whosesoever, are those of something erased."""

    def goes(self, statement: Any) -> bool:
        """Whether a record is not to say this any more."""
        if not isinstance(statement, dict):
            return False
        source, text = statement.get("source"), statement.get("text")
        if isinstance(source, str) and self.is_gone(source):
            return True
        return isinstance(text, str) and bool(text.strip()) and self.is_said(text)


class WithdrawnError(Exception):
    """Nothing that may stay is left of it."""


def is_made_of(memory: Memory, erased: Erased) -> bool:
    """Whether a memory has to do with what is erased."""
    cited = (*memory.evidence_ids, *memory.supersedes)
    return any(map(erased.is_gone, cited)) or any(map(erased.goes, statements_of(memory)))


def revised(memory: Memory, own: str, erased: Erased) -> dict[str, Any] | None:
    """The fields of what is left of a memory, its id last; None where it may stay as it is.

    Raises:
        WithdrawnError: nothing is left.
    """
    if not is_made_of(memory, erased):
        return None
    fields = dict(memory.fields)
    said = _restated(memory, fields, erased)
    bridged = _bridged(memory, fields, erased)
    if not said and not bridged:
        return None
    fields.pop("id", None)
    return {**fields, "id": own}


def _restated(memory: Memory, fields: dict[str, Any], erased: Erased) -> bool:
    """Take out of the fields what erased memories said; whether there was anything."""
    said = [*statements_of(memory)]
    if not any(map(erased.goes, said)):
        if not said and _is_made(memory) and any(map(erased.is_gone, memory.evidence_ids)):
            raise WithdrawnError
        return False
    payload = {name: _kept(value, erased) for name, value in memory.payload.items()}
    if not any(True for _ in _statements(payload)):
        raise WithdrawnError
    fields["payload"] = payload
    if memory.content:
        fields["content"] = _content(memory, payload)
    staying = (one for one in memory.evidence_ids if not erased.is_gone(one))
    _set_ids(fields, "evidence_ids", staying)
    return True


def _kept(value: Any, erased: Erased) -> Any:
    """A list without the statements that go; an answer goes with its question, and it with that.

    Anything else is as it was.
    """
    if not isinstance(value, list):
        return value
    together: list[list[Any]] = []
    for one in value:
        if together and isinstance(one, dict) and one.get(conversation.ANSWERS) is True:
            together[-1].append(one)
        else:
            together.append([one])
    return [one for each in together if not any(map(erased.goes, each)) for one in each]


def _is_made(memory: Memory) -> bool:
    """Whether a memory is a summary of what it cites, and no writer's own word."""
    return memory.record_type is not None or memory.kind == SUMMARY


def _content(memory: Memory, payload: Mapping[str, Any]) -> str:
    """Say a record again.

    Raises:
        WithdrawnError: nobody knows how it is said.
    """
    try:
        if memory.record_type in (PROFILE, PROJECT):
            return content(from_payload(memory.record_type, payload))
        if memory.record_type == conversation.CONVERSATION:
            left = Memory({**memory.fields, "payload": payload})
            return conversation.content(conversation.conversation_of(left))
        if memory.record_type == SUMMARY:
            said = dict.fromkeys(str(one["text"]) for one in payload["statements"])
            return "\n".join("- " + text.replace("\n", "\n  ") for text in said)
    except (InvalidMemoryError, LookupError, TypeError):
        pass
    raise WithdrawnError


def _bridged(memory: Memory, fields: dict[str, Any], erased: Erased) -> bool:
    """Supersede also what an erased memory did that this one supersedes; whether there was any."""
    before = memory.supersedes
    passed = (one for name in before for one in erased.bridges.get(name, ()))
    after = dict.fromkeys((*before, *passed))
    if len(after) == len(dict.fromkeys(before)):
        return False
    _set_ids(fields, "supersedes", after)
    return True


def _set_ids(fields: dict[str, Any], name: str, ids: Any) -> None:
    """Set a list where its spelling has it."""
    if name in fields or not isinstance(fields.get("metadata"), dict):
        fields[name] = list(ids)
    else:
        fields["metadata"] = {**fields["metadata"], name: list(ids)}


def statements_of(memory: Memory) -> Iterator[dict[str, Any]]:
    """All that a record quotes, whatever its lists are called."""
    return _statements(memory.payload)


def _statements(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for value in payload.values():
        for one in value if isinstance(value, list) else ():
            if isinstance(one, dict) and isinstance(one.get("source"), str):
                yield one
