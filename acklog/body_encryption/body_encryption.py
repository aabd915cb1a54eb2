"""Bodies encrypted before they are sent, and decrypted after they are received."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw

from acklog import runtime
from acklog.body_encryption.aes_gcm import AESGCM, KEY_BYTES, NONCE_BYTES, InvalidTag
from acklog.body_encryption.envelope import (
    ENCRYPTED_TYPE,
    BodyEnvelope,
    bound,
    head_of,
    pack_content,
    parse,
    unpack_content,
)
from acklog.body_encryption.key_provider import KeyProvider
from acklog.body_encryption.sending_keys import SendingKeys
from acklog.errors import (
    AcklogError,
    DecryptionFailed,
    InvalidArgument,
    KeyUnavailable,
    MessageInClear,
)
from acklog.messages import OutgoingMessage
from acklog.stored_body import StoredBody, keep_unreadable
from acklog.wire.limits import CONTENT_TYPE_BYTES_MAX

UNWRAPPED_KEYS_MAX = 1_000
"""Data keys of others that are kept, those that were met last."""
DEAD_LETTERS_END = ".dlq"
ClearMessages = Literal["refuse", "accept"]
_BYTES_TYPES = (bytes, bytearray, memoryview)
_BYTES_CONTENT_TYPE = "application/octet-stream"
_encode = msgspec.json.Encoder().encode


class BodyEncryption:
    """What a client encrypts by, and decrypts: `Client(body_encryption=BodyEncryption(Keyring("keys")))`.

    `clear_messages` says what becomes of messages that are not encrypted: to "refuse" them (reading their body raises
    MessageInClear), or to "accept" them. A body is bound to its topic and is read from there and from dead letters of
    it, `<topic>.….dlq`; `moved_from` names further topics whose bodies may be in one:
    `{"failed-orders": ["orders"]}`.

    One may serve several clients and threads. Raises InvalidArgument.
    """

    def __init__(
        self,
        keys: KeyProvider,
        *,
        clear_messages: ClearMessages = "refuse",
        moved_from: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if clear_messages not in {"refuse", "accept"}:
            raise InvalidArgument(f"is {clear_messages!r}, it may be refuse or accept", field="clear_messages")
        self._keys = keys
        self._clear_messages = clear_messages
        self._moved_from = {topic: frozenset(sources) for topic, sources in (moved_from or {}).items()}
        self._sending = SendingKeys(keys)
        self._cipher = lru_cache(UNWRAPPED_KEYS_MAX)(self._unwrapped)

    # --- sending -----------------------------------------------------------------------------------------------------

    def is_ready(self) -> bool:
        """Whether the next messages can be encrypted without asking the provider of keys, which may take its time."""
        return self._sending.is_ready(0)

    def make_ready(self) -> None:
        """Ask it now, where that is needed. Raises KeyUnavailable."""
        self._sending.take(0)

    def encrypted(self, topic: str, key: str | None, body: Any, content_type: str | None) -> tuple[bytes, str | None]:
        """The body to send, and its content type. A tombstone stays as it is: the server has to know it. Raises
        InvalidArgument, KeyUnavailable."""
        is_binary = isinstance(body, _BYTES_TYPES)
        if is_binary and key is not None and not len(body):
            return b"", content_type
        content = pack_content(*_content_of(body, content_type))
        data_key = self._sending.take(len(content))
        try:
            head = head_of(topic, data_key.key_id, data_key.wrapped)
            associated = bound(head, key)
        except ValueError as error:
            raise InvalidArgument(f"the message cannot be encrypted: {error}") from error
        nonce = runtime.random_bytes(NONCE_BYTES)
        return head + nonce + data_key.cipher.encrypt(nonce, content, associated), ENCRYPTED_TYPE

    def encrypt_all(self, topic: str, messages: Iterable[OutgoingMessage]) -> list[OutgoingMessage]:
        """As they are to be sent. Raises as `encrypted` does."""
        made = []
        for message in messages:
            body, content_type = self.encrypted(topic, message.key, message.body, message.content_type)
            made.append(msgspec.structs.replace(message, body=body, content_type=content_type))
        return made

    # --- receiving ---------------------------------------------------------------------------------------------------

    def decrypt_all(self, bodies: Iterable[tuple[str, StoredBody]]) -> None:
        """Put in the place of what each message came with what was encrypted; topic by topic that it came from. One
        that cannot be decrypted stays as it is, and raises why when its body is read: it harms no other."""
        failures: dict[tuple[str, bytes], AcklogError] = {}
        for topic, message in bodies:
            try:
                self._decrypt(topic, message, failures)
            except AcklogError as error:
                keep_unreadable(message, error)

    def _decrypt(self, topic: str, message: StoredBody, failures: dict[tuple[str, bytes], AcklogError]) -> None:
        is_binary = message.json_body is UNSET
        if is_binary and (message.base64_body is None or (message.base64_body == "" and message.key is not None)):
            return  # no body at all, or a tombstone, which has nothing to hide
        if not is_binary or message.content_type != ENCRYPTED_TYPE:
            if self._clear_messages == "accept":
                return
            detail = f'a message of {topic!r} is not encrypted: clear_messages="accept" takes such ones, too'
            raise MessageInClear(detail)
        envelope = _envelope(topic, message.base64_body or "")
        self._check_place(topic, envelope)
        cipher = self._cipher_of(envelope, failures)
        try:
            content = cipher.decrypt(envelope.nonce, envelope.ciphertext, bound(envelope.head, message.key))
            body, content_type = unpack_content(content)
        except (InvalidTag, ValueError):
            detail = (
                f"a message of {topic!r} was changed after it was sent, or has another message's body: its sender did "
                "not make what is stored"
            )
            raise DecryptionFailed(detail) from None
        message.content_type = content_type
        message.json_body = Raw(body) if content_type is None else UNSET
        message.base64_body = None if content_type is None else b64encode(body).decode("ascii")

    def _check_place(self, topic: str, envelope: BodyEnvelope) -> None:
        source = envelope.topic
        is_dead_letter = topic.startswith(f"{source}.") and topic.endswith(DEAD_LETTERS_END)
        if topic != source and not is_dead_letter and source not in self._moved_from.get(topic, ()):
            detail = (
                f"a message of {topic!r} was sent to {source!r}: if it may have come from there, say so by "
                f'moved_from={{"{topic}": ["{source}"]}}'
            )
            raise DecryptionFailed(detail)

    def _cipher_of(self, envelope: BodyEnvelope, failures: dict[tuple[str, bytes], AcklogError]) -> AESGCM:
        """What fails once is not asked again for the other messages of an answer."""
        place = (envelope.key_id, envelope.wrapped)
        if place in failures:
            raise failures[place]
        try:
            return self._cipher(*place)
        except AcklogError as error:
            failures[place] = error
            raise

    def _unwrapped(self, key_id: str, wrapped: bytes) -> AESGCM:
        try:
            key = self._keys.unwrap(key_id, wrapped)
        except AcklogError:
            raise
        except Exception as error:
            raise KeyUnavailable(f"a data key could not be unwrapped by the key {key_id!r}: {error!r}") from error
        if len(key) != KEY_BYTES:
            raise DecryptionFailed(f"what the key {key_id!r} unwraps has {len(key)} bytes: it is no data key")
        return AESGCM(key)


def _content_of(body: Any, content_type: str | None) -> tuple[bytes, str | None]:
    """As it is encrypted. Raises InvalidArgument."""
    if isinstance(body, _BYTES_TYPES):
        name = _BYTES_CONTENT_TYPE if content_type is None else content_type
        if not 1 <= len(name.encode()) <= CONTENT_TYPE_BYTES_MAX:
            detail = f"has {len(name.encode())} bytes, it must have 1 to {CONTENT_TYPE_BYTES_MAX}"
            raise InvalidArgument(detail, field="content_type")
        return bytes(body), name
    if content_type is not None:
        raise InvalidArgument("content_type goes with a body of bytes; any other body is JSON", field="content_type")
    try:
        return _encode(body), None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidArgument(f"the message cannot be JSON: {error}", field="body") from error


def _envelope(topic: str, base64_body: str) -> BodyEnvelope:
    """Raises DecryptionFailed."""
    try:
        return parse(b64decode(base64_body, validate=True))
    except ValueError as error:
        raise DecryptionFailed(f"a message of {topic!r} says that it is encrypted and is not: {error}") from None
