"""A day with mem0's verbs: what each call answers, with ids and times by their order.

The test runs it with our class. As a program, under a Python that has mem0ai, it runs it with
`mem0.Memory` and prints what that answers: `mem0.json` beside it is what version 2.2.1 printed.
Nothing is imported here that only one of the two has.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

VERBS = (
    "add",
    "get",
    "get_all",
    "search",
    "update",
    "delete",
    "delete_all",
    "history",
    "from_config",
    "close",
)
MESSAGES = [
    {"role": "system", "content": "You like tea"},
    {"role": "user", "content": "I like green tea"},
    {"role": "assistant", "content": "Noted: tea, green", "name": "bot"},
    {"role": "user"},
]
FILTERS: tuple[dict[str, Any], ...] = (
    {"user_id": "u1"},
    {"user_id": " u1 "},
    {"user_id": "u2"},
    {"agent_id": "bot"},
    {"run_id": "r1"},
    {"user_id": "u1", "run_id": "r1"},
    {"user_id": "u1", "topic": "drinks"},
    {"user_id": "u1", "topic": ["drinks", "food"]},
    {"user_id": "u1", "role": "assistant"},
    {"user_id": "u1", "actor_id": "bot"},
)
OPERATORS: tuple[dict[str, Any], ...] = (
    {"topic": {"eq": "drinks"}},
    {"topic": {"in": ["drinks", "games"]}},
    {"cups": {"gt": 1}},
    {"cups": {"gte": 3, "lt": 5}},
    {"cups": {"lte": 2}},
    {"topic": {"ne": "drinks"}},
    {"topic": {"nin": ["drinks", "food"]}},
    {"topic": {"contains": "drinks"}},
    {"topic": "*"},
    {"AND": [{"topic": "drinks"}, {"cups": {"gt": 2}}]},
    {"OR": [{"topic": "games"}, {"role": "assistant"}]},
    {"NOT": [{"topic": "drinks"}]},
)
REFUSED: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("add for nobody", lambda m: m.add("tea", infer=False)),
    ("add for a blank", lambda m: m.add("tea", user_id=" ", infer=False)),
    ("add for two words", lambda m: m.add("tea", user_id="u 1", infer=False)),
    ("add a number", lambda m: m.add(7, user_id="u1", infer=False)),
    ("add at a time", lambda m: m.add("tea", user_id="u1", timestamp=1, infer=False)),
    ("add until some day", lambda m: m.add("t", user_id="u1", expiration_date="x", infer=False)),
    ("list for nobody", lambda m: m.get_all(filters={"topic": "drinks"})),
    ("list beside the filters", lambda m: m.get_all(user_id="u1")),
    ("list fewer than none", lambda m: m.get_all(filters={"user_id": "u1"}, top_k=-1)),
    ("search for nobody", lambda m: m.search("tea")),
    ("search for nothing", lambda m: m.search(" ", filters={"user_id": "u1"})),
    ("search beyond", lambda m: m.search("tea", filters={"user_id": "u1"}, threshold=2)),
    ("search like", lambda m: m.search("tea", filters={"user_id": "u1", "OR": []})),
    ("update nothing", lambda m: m.update("00000000-0000-0000-0000-000000000000")),
    ("update none", lambda m: m.update("00000000-0000-0000-0000-000000000000", "tea")),
    ("delete none", lambda m: m.delete("00000000-0000-0000-0000-000000000000")),
    ("delete all of nobody", lambda m: m.delete_all()),
)


def signatures(kind: type) -> list[Any]:
    """The parameters of each verb: name, how it is given, whether it may be left out and as what.

    Not their types: mem0 says hardly any.
    """
    found: list[Any] = []
    for verb in VERBS:
        parameters = inspect.signature(getattr(kind, verb)).parameters.values()
        told = [[one.name, one.kind.name, _default(one.default)] for one in parameters]
        found.append([verb, told])
    return found


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return "needed"
    return value if value is None or isinstance(value, str | int | float | bool) else "a sentinel"


def day(memory: Any) -> list[Any]:
    """Use a memory; gives what each call answered."""
    told: list[Any] = []
    note = told.append
    said = memory.add(
        MESSAGES, user_id="u1", metadata={"topic": "drinks", "cups": 3, "user_id": "x"}, infer=False
    )
    note(said)
    note(memory.add("Chess with tea", user_id="u1", run_id="r1", infer=False))
    note(memory.add({"role": "user", "content": "Tea at 5"}, agent_id="bot", infer=False))
    note(memory.add("Old tea", user_id="u1", expiration_date="2020-01-01", infer=False))
    new = {"metadata": {"topic": "games", "cups": 1}, "expiration_date": "2999-01-01"}
    note(memory.add("New tea", user_id="u1", **new, infer=False))
    first, second = (one["id"] for one in said["results"])
    note(
        [memory.get(first), memory.get(second), memory.get("00000000-0000-0000-0000-00000000000a")]
    )
    for filters in FILTERS:
        note([filters, listed(memory.get_all(filters=filters))])
        note(listed(memory.search("tea", filters=filters)))
    note(listed(memory.get_all(filters={"user_id": "u1"}, show_expired=True)))
    note(len(memory.get_all(filters={"user_id": "u1"}, top_k=2)["results"]))
    note(len(memory.search("tea", filters={"user_id": "u1"}, top_k=2)["results"]))
    for filters in OPERATORS:
        found = memory.search("tea", filters={"user_id": "u1", **filters})
        note([filters, sorted(one["memory"] for one in found["results"])])
    note(memory.update(first, "I like black tea"))
    note(memory.get(first))
    note(memory.update(memory_id=first, metadata={"cups": 4, "new": None, "user_id": "u9"}))
    note(memory.update(first, expiration_date="2998-12-31"))
    note(memory.get(first))
    note(memory.update(first, expiration_date=None, text="I like white tea"))
    note([memory.get(first), listed(memory.get_all(filters={"user_id": "u1"}))])
    note(memory.history(first))
    note([memory.delete(first), memory.get(first), memory.history(first)])
    note(listed(memory.search("tea", filters={"user_id": "u1"})))
    note([[what, refused(memory, call)] for what, call in REFUSED])
    note([memory.delete_all(user_id="u1", run_id="r1"), listed(memory.get_all(filters=FILTERS[0]))])
    note([memory.delete_all(user_id="u1"), memory.get_all(filters=FILTERS[0])])
    note(listed(memory.get_all(filters={"agent_id": "bot"})))
    answered: list[Any] = plain(told)
    return answered


def listed(answer: dict[str, Any]) -> list[Any]:
    """What was found, in an order both have."""
    assert [*answer] == ["results"]
    return sorted(answer["results"], key=lambda one: str(one["memory"]))


def refused(memory: Any, call: Callable[[Any], object]) -> str:
    """Whether a call was refused."""
    try:
        call(memory)
    except ValueError:
        return "ValueError"
    except Exception as error:  # noqa: BLE001  (whatever theirs is)
        return "ValueError" if type(error).__name__ == "ValidationError" else repr(error)
    return "done"


def plain(told: Any) -> Any:
    """What was told, without what differs each day or is nobody's to count on."""
    names: dict[str, str] = {}

    def clean(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            theirs = {"id"} if "memory_id" in value else set()  # of a row of history
            theirs |= {"expiration_date"} if value.get("expiration_date", "") is None else set()
            return {name: clean(value[name], name) for name in sorted(value) if name not in theirs}
        if isinstance(value, list):
            return [clean(one, key) for one in value]
        if key == "score" and value is not None:
            return "a score" if 0 <= value <= 1 else value
        return name_of(value) if isinstance(value, str) else value

    def name_of(value: str) -> str:
        if re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", value):
            return "a time"
        if re.match(r"[0-9a-f]{8}-[0-9a-f]{4}-", value) and "0000-0000" not in value:
            return names.setdefault(value, f"id {len(names)}")
        return value

    return json.loads(json.dumps(clean(told, "")))


def real(place: Path) -> Any:
    """mem0's own class, without a network: its vectors are all the same."""
    import mem0.utils.factory as factories
    from mem0 import Memory
    from mem0.embeddings.mock import MockEmbeddings

    factories.EmbedderFactory.create = lambda *_: MockEmbeddings()
    vectors = {"path": str(place / "q"), "embedding_model_dims": 10, "on_disk": False}
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": vectors},
            "history_db_path": ":memory:",
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
        }
    )


def spelled(answer: dict[str, Any]) -> str:
    """Spell what was answered, a call a line."""
    parts = []
    for name, told in answer.items():
        calls = ",\n".join(json.dumps(one) for one in told)
        parts.append(f'"{name}": [\n{calls}\n]')
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    memory = real(Path(sys.argv[1]))
    answer = {"signatures": signatures(type(memory)), "day": day(memory)}
    sys.stdout.write(spelled(answer))
