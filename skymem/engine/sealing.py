"""Names as a server sees them: sealed under a key of the home, so that they tell nothing (R14).

A writer chooses ids, and an id may say what the memory does. Sealed, equal names stay equal and no
others can be told apart; with the key, and only with it, a name is read again. This is the SIV
construction (Rogaway and Shrimpton, 2006) over keyed BLAKE2b: a tag of the name, then the name
under a stream that follows from the tag.
"""

import base64
from binascii import Error as NotBase64Error
from hashlib import blake2b
from typing import Final

TAG_BYTES: Final = 16
BLOCK_BYTES: Final = 64


class Seal:
    """Seals names under `key`, of 32 bytes, which is used for nothing else."""

    def __init__(self, key: bytes) -> None:
        self._tags = blake2b(b"", key=key, person=b"tags").digest()
        self._streams = blake2b(b"", key=key, person=b"streams").digest()

    def close(self, name: str) -> str:
        """Seal a name: letters, digits, - and _."""
        data = name.encode("utf-8", "surrogatepass")
        tag = self._tag(data)
        return base64.urlsafe_b64encode(tag + self._stream(tag, data)).rstrip(b"=").decode()

    def open(self, sealed: str) -> str | None:
        """Read a sealed name; None for what was not sealed under this key."""
        try:
            data = base64.b64decode(sealed + "=" * (-len(sealed) % 4), b"-_", validate=True)
        except (NotBase64Error, ValueError):
            return None
        tag = data[:TAG_BYTES]
        if len(tag) < TAG_BYTES:
            return None
        name = self._stream(tag, data[TAG_BYTES:])
        return name.decode("utf-8", "surrogatepass") if self._tag(name) == tag else None

    def _tag(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=TAG_BYTES, key=self._tags).digest()

    def _stream(self, tag: bytes, data: bytes) -> bytes:
        """Seal what is plain and the other way round."""
        blocks = range(-(-len(data) // BLOCK_BYTES))
        stream = b"".join(
            blake2b(number.to_bytes(8, "big"), key=self._streams, salt=tag).digest()
            for number in blocks
        )[: len(data)]
        mixed = int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(data), "big")
