"""The messages that mem0's `add` takes: a text, one message, or several."""

import logging
from typing import Any

from skymem.adapters.refusal import UnfitCallError

logger = logging.getLogger(__name__)


def messages_of(messages: Any) -> list[dict[str, Any]]:
    """The messages that are kept.

    Raises:
        UsageError: they are none, or one has more than text in it.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, list):
        raise UnfitCallError("messages must be str, dict, or list[dict]")
    found = []
    for one in messages:
        whole = isinstance(one, dict) and None not in (one.get("role"), one.get("content"))
        if not whole:
            logger.warning("a message without role or content is not kept")
        elif one["role"] != "system":
            found.append({**one, "content": _text(one["content"])})
    return found


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    said = [one.get("text") if isinstance(one, dict) else one for one in parts]
    texts = [text for text in said if isinstance(text, str)]
    if len(texts) < len(parts):
        raise UnfitCallError("a message has more than text in it: that takes a language model")
    return "\n".join(texts)
