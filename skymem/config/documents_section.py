"""The `documents:` section of `retention_rules.yaml`: how documents are read, cut and searched."""

import re
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import Key
from skymem.config.problems import Complaints, shown
from skymem.config.readers import Setting, Settings
from skymem.config.units import format_size
from skymem.config.yaml_nodes import Pair
from skymem.model.regex import regex

_NAME: Final = regex(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


def _reranker(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    """A model's name or absolute path: a relative one would depend on who starts the engine."""
    found = fields.scalar(pair, key, complaints)
    if found is None or PurePosixPath(found.text).is_absolute() or _NAME.fullmatch(found.text):
        return None if found is None else found.text
    remedy = "write NAME or OWNER/NAME, or a path that starts with a slash"
    complaints.at(found, f"{key.name}: {shown(found.text)} is neither name nor path ({remedy})")
    return None


DOCUMENT_SETTINGS: Final[Settings] = MappingProxyType(
    {
        "chunk_chars": Setting("chunk_chars", fields.whole),
        "overlap_chars": Setting("overlap_chars", fields.whole),
        "file_max": Setting("file_bytes_max", fields.size, format_size),
        "reranker": Setting("reranker", _reranker, optional=True),
    }
)
"""Each key with how it is read and written."""
