"""Whether the messages of verified batches can be decoded."""

import msgspec

from acklog.wire.batch import BatchCorruptError, BatchHeader, decode_keys
from acklog.wire.compacted_batch import decode_remaining
from cluster.errors import ServerError
from storage.disk.port import Buffer
from storage.log.batch_cipher import BatchCipher
from storage.log.segment_reader import StoredBatch


class RecordCheck:
    """Of one log. `unread` says why some batches could not be looked into, "" where all were."""

    def __init__(self, cipher: BatchCipher) -> None:
        self._cipher = cipher
        self.unread = ""

    def fault(self, data: Buffer, header: BatchHeader) -> str | None:
        """What is wrong with the content of a batch whose checksums are right; None if nothing is, as far as it can be
        told."""
        try:
            header, data = self._cipher.decrypted(StoredBatch(header, memoryview(data)))
            decode_remaining(data, header)
            keys = decode_keys(data, header)
        except ServerError as error:
            self.unread = error.detail
            return None
        except BatchCorruptError as error:
            return error.reason
        except (msgspec.DecodeError, ValueError, ImportError) as error:
            return f"{type(error).__name__}: {error}"
        if any(not 0 <= key.index < header.count for key in keys):
            return "an idempotency key belongs to no message"
        return None
