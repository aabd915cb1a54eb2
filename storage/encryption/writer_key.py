"""The key of one writer, under which no nonce comes twice.

Whoever writes draws 128 random bits and derives a key of its own from the topic's data key; under it batches are
counted from 0, and the count is the nonce. A writer lives in one process and is never stored, so the count never goes
back; two writers have one key only where their 128 bits are equal. Offsets and leader epochs, which a cut log may give
out again, have no part in it.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from cluster.ports.entropy import Entropy

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
SALT_BYTES = 16
COUNT_BYTES = 8
NONCE_BYTES = 12
WRITER_BATCHES_MAX = 1 << 32
"""Of one writer. What one key of AES-GCM may be used for is bounded, also where no nonce comes again."""

_DERIVED_MAX = 4096  # keys of writers that are remembered: those of the batches that are read now


class WriterKey:
    """Of one log, under the data key of this number. `take_count` is for one thread at a time."""

    def __init__(self, number: int, data_key: bytes, context: bytes, entropy: Entropy) -> None:
        self.number = number
        self.salt = entropy.bits64().to_bytes(8, "big") + entropy.bits64().to_bytes(8, "big")
        self.cipher = derived(data_key, self.salt, context)
        self._count = 0

    @property
    def is_used_up(self) -> bool:
        return self._count >= WRITER_BATCHES_MAX

    def take_count(self) -> bytes:
        """The next one, which nobody has had under this key."""
        if self.is_used_up:
            raise ValueError(f"the writer has encrypted {self._count} batches, and may no more")
        count = self._count.to_bytes(COUNT_BYTES, "big")
        self._count += 1
        return count


@lru_cache(maxsize=_DERIVED_MAX)
def derived(data_key: bytes, salt: bytes, context: bytes) -> "AESGCM":
    """The key of the writer that drew `salt`, for one log."""
    # Imported with the first topic that is encrypted.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt, b"acklog-log " + context).derive(data_key))


def nonce_of(count: bytes) -> bytes:
    return count.rjust(NONCE_BYTES, b"\0")
