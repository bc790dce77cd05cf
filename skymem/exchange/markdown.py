"""A Markdown file as one memory, its front matter read as plain values (X12).

What stands there is data and nothing else: no path in it is opened, no tag of YAML makes anything,
and an alias that grows past any number is refused by the reader of our own configuration.
"""

from typing import Any, Final

from skymem.config.problems import Complaints
from skymem.config.yaml_nodes import Items, Node, Scalar, Table
from skymem.config.yaml_text import parse_yaml
from skymem.model.memory import read_time
from skymem.model.strict_json import BOM, LineDamage

FRONT_BYTES_MAX: Final = 64 * 1024
TIMES: Final = ("created_at", "created", "date", "timestamp", "updated")
NAMES: Final = ("id", "uid", "name")
FENCE: Final = "---"


def markdown_fields(data: bytes, name: str) -> dict[str, Any]:
    """Read a file; `name` is its foreign id where it says none.

    Raises:
        LineDamage: it is no text, or its front matter can't be read.
    """
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise LineDamage(f"not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise LineDamage("a NUL in it: no text")
    front, body = _split(text.replace("\r\n", "\n"))
    about = _values(front) if front else {}
    fields: dict[str, Any] = {"type": "short", "content": _content(about, body)}
    if (moment := next((about[one] for one in TIMES if about.get(one)), None)) is not None:
        fields = {"ts": _seconds(moment), **fields}
    tags = about.get("tags")
    if isinstance(tags, str):
        tags = [tag.strip() for tag in tags.split(",")]
    if isinstance(tags, list) and (texts := [str(tag) for tag in tags if tag]):
        fields["tags"] = texts
    if isinstance(kind := about.get("kind", about.get("type")), str) and kind:
        fields["kind"] = kind
    importance: Any = about.get("importance")
    if type(importance) in (int, float) and 0 <= importance <= 1:
        fields["importance"] = importance
    said: dict[str, Any] = {
        one: about[one] for one in ("trust", "origin", "sensitivity") if one in about
    }
    fields |= {**said, "source_id": str(next((about[o] for o in NAMES if about.get(o)), name))}
    return {**fields, "source": {"file": name, "front": about}} if about else fields


def _content(about: dict[str, Any], body: str) -> str:
    titles = [about.get(one) for one in ("title", "description")]
    heads = [one for one in titles if isinstance(one, str) and one and one not in body]
    text = "\n".join([*heads, body.strip()]).strip()
    if not text:
        raise LineDamage("there is no text in it")
    return text


def _split(text: str) -> tuple[str, str]:
    """The front matter, and what is behind it."""
    first, newline, rest = text.partition("\n")
    if first.strip() != FENCE or not newline:
        return "", text
    lines = rest.split("\n")
    end = next((n for n, line in enumerate(lines) if line.rstrip() in (FENCE, "...")), None)
    if end is None:
        return "", text  # a rule at the top, and no front matter
    front = "\n".join(lines[:end])
    if len(front.encode()) > FRONT_BYTES_MAX:
        raise LineDamage(f"front matter of more than {FRONT_BYTES_MAX} bytes")
    return front, "\n".join(lines[end + 1 :])


def _values(front: str) -> dict[str, Any]:
    complaints = Complaints("front matter")
    root = parse_yaml(front, complaints)
    if complaints.found or not isinstance(root, Table):
        raise LineDamage("front matter that is no plain YAML mapping")
    value = _value(root)
    return value if isinstance(value, dict) else {}


def _value(node: Node) -> Any:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [_value(one) for one in node.items]
    return {pair.key.text: _value(pair.value) for pair in node.pairs}


def _seconds(moment: Any) -> float | int:
    text = moment if not isinstance(moment, str) else _whole(moment.strip())
    time_us = read_time("timestamp" if isinstance(text, str) else "ts", text)
    if time_us is None:
        raise LineDamage("a time that can't be read")
    whole, rest = divmod(time_us, 1_000_000)
    return time_us / 1_000_000 if rest else whole


def _whole(text: str) -> str:
    """A date alone begins at midnight."""
    return f"{text}T00:00:00Z" if len(text) == len("2026-01-01") else text
