"""Bytes encrypted under a writer's key, with all that is needed to decrypt them beside the data key.

    offset size field
    0      1    0xC1, with which no msgpack begins: software that does not know of this cannot take it for content
    1      1    version of this layout, 1
    2      4    number of the data key
    6      16   salt of the writer's key
    22     8    count of the writer, its nonce
    30          ciphertext, and a tag of 16 bytes

What they are bound to (`bound`) is not among them: they are decrypted only where the reader says the same.
"""

import struct

from acklog.wire.batch import BatchCorruptError
from storage.disk.port import Buffer
from storage.encryption.topic_keys import TopicKeys
from storage.encryption.writer_key import WriterKey, derived, nonce_of

MARK = 0xC1
VERSION = 1
_HEAD = struct.Struct(">BBI16s8s")
TAG_BYTES = 16
ENVELOPE_BYTES = _HEAD.size + TAG_BYTES
"""More than the content."""


def is_encrypted(content: Buffer) -> bool:
    return len(content) > 0 and content[0] == MARK


def data_key_number(encrypted: Buffer) -> int:
    """The one that an envelope names; 0 where it is none that is known here."""
    if len(encrypted) < _HEAD.size or encrypted[0] != MARK or encrypted[1] != VERSION:
        return 0
    number: int = _HEAD.unpack_from(encrypted)[2]
    return number


def encrypt(writer: WriterKey, content: Buffer, *, bound: bytes) -> tuple[bytes, bytes]:
    """The envelope's head, and what comes behind it."""
    count = writer.take_count()
    head = _HEAD.pack(MARK, VERSION, writer.number, writer.salt, count)
    return head, writer.cipher.encrypt(nonce_of(count), content, head + bound)


def decrypt(keys: TopicKeys, context: bytes, encrypted: Buffer, *, bound: bytes) -> bytes:
    """The content. Raises BatchCorruptError where it was changed, or belongs elsewhere, and ServerError UNAVAILABLE
    where the data key is not known."""
    if len(encrypted) < ENVELOPE_BYTES or encrypted[0] != MARK:
        raise BatchCorruptError("what says that it is encrypted is not")
    if encrypted[1] != VERSION:
        raise BatchCorruptError(f"it is encrypted in the layout {encrypted[1]}, which this version does not know")
    _, _, number, salt, count = _HEAD.unpack_from(encrypted)
    view = memoryview(encrypted)
    from cryptography.exceptions import InvalidTag  # with the first topic that is encrypted

    try:
        return derived(keys.key(number), salt, context).decrypt(
            nonce_of(count), view[_HEAD.size :], bytes(view[: _HEAD.size]) + bound
        )
    except InvalidTag:
        raise BatchCorruptError("it cannot be decrypted: it was changed, or belongs to another log or key") from None
