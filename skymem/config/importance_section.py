"""How the section `importance:` is read, and shown again (row P12)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.readers import Setting

IMPORTANCE_SETTINGS: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        "predict": Setting("predict", fields.choice),
        "vectors": Setting("vectors", fields.choice),
    }
)
