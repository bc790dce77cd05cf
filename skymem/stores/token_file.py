"""A token in a file that nobody else may read: a Chroma server's, or a webhook's."""

import os
import stat
from typing import Final

TOKEN_BYTES_MAX: Final = 8192


def read_token(path: str) -> str:
    """Read the token; its errors name the file and never what is in it.

    Raises:
        ValueError: there is none, or others can read it.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ValueError(f"token_file {path}: {error.strerror}") from error
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"token_file {path} is no regular file")
        if mode & 0o077:
            raise ValueError(f"token_file {path} is open to others (chmod 600 {path})")
        token = os.read(fd, TOKEN_BYTES_MAX).decode(errors="replace").strip()
    finally:
        os.close(fd)
    if not token:
        raise ValueError(f"token_file {path} is empty")
    return token


def bearer(token: str) -> str:
    """The header's value.

    Raises:
        ValueError: it is no token, and would break the header.
    """
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("what should be its token is not one word of ASCII")
    return f"Bearer {token}"
