"""What an adapter refuses as the library it stands for would: code written for that catches it."""

from skymem.errors import UsageError


class UnfitCallError(UsageError, ValueError):
    """{0}"""


def quoted(value: object) -> str:
    """Name a value in a message, at most so much of it."""
    return f"{value!r:.60}"
