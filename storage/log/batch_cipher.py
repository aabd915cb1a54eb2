"""What a log's batches and state are kept as: in clear, or encrypted so that nobody reads them who has the files
only."""

from collections.abc import Sequence
from typing import Protocol

from acklog.wire.batch import BatchCorruptError
from cluster.errors import ServerError
from storage.disk.port import Buffer
from storage.log.segment_reader import StoredBatch
from storage.log.segment_rewrite import BatchRewriter


class BatchCipher(Protocol):
    """Of one log. `decrypted`, `decrypted_state` and the rewriter may be used in I/O threads, the rest on the event
    loop."""

    def encrypted(self, batch: bytearray) -> bytearray:
        """An unstamped batch as it is to be stored: itself where it is stored in clear. Raises ServerError: UNAVAILABLE
        while it cannot be encrypted and should be, REQUEST_TOO_LARGE."""
        ...

    def decrypted(self, stored: StoredBatch) -> StoredBatch:
        """A stored batch in clear. Raises BatchCorruptError for one that cannot be decrypted, and ServerError
        UNAVAILABLE where its key is not known."""
        ...

    def rewriting(self, rewriter: BatchRewriter) -> BatchRewriter:
        """One that is given stored batches, and lets `rewriter` see them in clear. Raises ServerError UNAVAILABLE."""
        ...

    def encrypted_state(self, state: bytes) -> bytes:
        """What is made of the log's batches, as it is to be stored beside them. Raises ServerError UNAVAILABLE."""
        ...

    def decrypted_state(self, state: Buffer) -> bytes:
        """As it was before it was stored. Raises ServerError and BatchCorruptError as `decrypted` does."""
        ...


class InClear:
    """Nothing is encrypted, and what is cannot be decrypted: decoding it says so."""

    def encrypted(self, batch: bytearray) -> bytearray:
        return batch

    def decrypted(self, stored: StoredBatch) -> StoredBatch:
        return stored

    def rewriting(self, rewriter: BatchRewriter) -> BatchRewriter:
        return rewriter

    def encrypted_state(self, state: bytes) -> bytes:
        return state

    def decrypted_state(self, state: Buffer) -> bytes:
        return bytes(state)


IN_CLEAR: BatchCipher = InClear()


def decrypt_batches(cipher: BatchCipher, stored: Sequence[StoredBatch]) -> list[StoredBatch]:
    """In clear, up to the first one that cannot be decrypted; raises as `BatchCipher.decrypted` where that is the first
    of all."""
    decrypted: list[StoredBatch] = []
    for each in stored:
        try:
            decrypted.append(cipher.decrypted(each))
        except (BatchCorruptError, ServerError):
            if not decrypted:
                raise
            break
    return decrypted
