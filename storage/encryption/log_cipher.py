"""Encrypts the batches of one log, and decrypts them (`storage.log.batch_cipher`).

An encrypted batch has the header of the plain one, with FLAG_ENCRYPTED and another length, and in the place of its keys
and its payload an envelope of both. `keys_length` stays: it says where the keys end once it is decrypted. The envelope
is bound to the log, and to all of the header that the producer made; not to what the leader stamps later.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from acklog.wire.batch import (
    CONTENT_AT,
    FLAG_ENCRYPTED,
    HEADER_BYTES,
    BatchCorruptError,
    BatchHeader,
    encode_again,
    read_header,
    stamped_header,
)
from acklog.wire.compacted_batch import is_placeholder
from acklog.wire.limits import BATCH_BYTES_MAX
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.entropy import Entropy
from storage.disk.port import Buffer
from storage.encryption.envelope import ENVELOPE_BYTES, decrypt, encrypt, is_encrypted
from storage.encryption.topic_keys import TopicKeys
from storage.encryption.writer_key import WriterKey
from storage.log.keys import LogKey
from storage.log.segment_reader import StoredBatch
from storage.log.segment_rewrite import BatchRewriter

_STATE = b"state"
_FLAGS_LOW = 1  # of the bound part of a header: the byte of the flags with FLAG_ENCRYPTED


class LogCipher:
    """One at a time of a log: what it appends is encrypted under one writer's key after the other."""

    def __init__(self, log: LogKey, keys: TopicKeys, entropy: Entropy) -> None:
        self._context = str(log).encode()
        self._keys = keys
        self._entropy = entropy
        self._writer: WriterKey | None = None

    def encrypted(self, batch: bytearray) -> bytearray:
        if not self._keys.is_on:
            return batch
        return encrypt_batch(self._current_writer(), stamped_header(batch), batch)

    def decrypted(self, stored: StoredBatch) -> StoredBatch:
        if not stored.header.is_encrypted:
            return stored
        header, data = stored
        view = memoryview(data)[: header.length]
        content = decrypt(self._keys, self._context, view[HEADER_BYTES:], bound=_bound(view))
        if len(content) < header.keys_length:
            raise BatchCorruptError(f"it says {header.keys_length} bytes of keys and holds {len(content)}")
        plain = encode_again(replace(header, flags=header.flags & ~FLAG_ENCRYPTED), content)
        return StoredBatch(read_header(plain), memoryview(plain))

    def rewriting(self, rewriter: BatchRewriter) -> BatchRewriter:
        writer = self.new_writer() if self._keys.is_on or self._keys.is_known else None
        return _EncryptingRewriter(rewriter, self, writer)

    def encrypted_state(self, state: bytes) -> bytes:
        if not self._keys.is_on or not state:
            return state
        return b"".join(encrypt(self._current_writer(), state, bound=_STATE))

    def decrypted_state(self, state: Buffer) -> bytes:
        return decrypt(self._keys, self._context, state, bound=_STATE) if is_encrypted(state) else bytes(state)

    def new_writer(self) -> WriterKey:
        """Raises ServerError UNAVAILABLE."""
        number = self._keys.newest
        return WriterKey(number, self._keys.key(number), self._context, self._entropy)

    def _current_writer(self) -> WriterKey:
        """Of the newest data key: also of one that has come to be known just now."""
        writer = self._writer
        if writer is None or writer.is_used_up or writer.number != self._keys.newest:
            writer = self._writer = self.new_writer()
        return writer


def encrypt_batch(writer: WriterKey, header: BatchHeader, batch: Buffer) -> bytearray:
    """Of a whole plain batch. Raises ServerError REQUEST_TOO_LARGE."""
    if header.length + ENVELOPE_BYTES > BATCH_BYTES_MAX:
        detail = f"A batch has {header.length} bytes, encrypted more than {BATCH_BYTES_MAX}."
        raise ServerError(ProblemCode.REQUEST_TOO_LARGE, detail)
    view = memoryview(batch)
    envelope = encrypt(writer, view[HEADER_BYTES : header.length], bound=_bound(view))
    return encode_again(replace(header, flags=header.flags | FLAG_ENCRYPTED), *envelope)


class _EncryptingRewriter:
    """What `rewriter` leaves as it was stays as it was stored; what it makes anew of an encrypted batch is encrypted
    anew. What it made of several of which nothing is left says nothing, and is kept in clear."""

    def __init__(self, rewriter: BatchRewriter, log_cipher: LogCipher, writer: WriterKey | None) -> None:
        self._rewriter = rewriter
        self._cipher = log_cipher
        self._writer = writer

    @property
    def has_changed(self) -> bool:
        return self._rewriter.has_changed

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        if not header.is_encrypted:
            return self._rewriter.take(header, data)
        plain = self._cipher.decrypted(StoredBatch(header, memoryview(data)))
        made = self._rewriter.take(plain.header, plain.data)
        return [data if each is plain.data else self._stored(each) for each in made]

    def end(self) -> Sequence[Buffer]:
        return self._rewriter.end()

    def _stored(self, made: Buffer) -> Buffer:
        header = read_header(made)
        if is_placeholder(made, header):
            return made
        assert self._writer is not None, "what was encrypted has a data key that is known"
        return encrypt_batch(self._writer, header, made)


def _bound(batch: memoryview) -> bytes:
    """What the producer has made of the header, the same of the plain batch and of the encrypted one."""
    bound = bytearray(batch[CONTENT_AT:HEADER_BYTES])
    bound[_FLAGS_LOW] &= ~FLAG_ENCRYPTED & 0xFF
    return bytes(bound)
