"""What schemathesis is told of bodies that are no JSON document; see `test_the_contract`."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context: Any, value: Any) -> bytes:
    """Send JSON lines as they are."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
