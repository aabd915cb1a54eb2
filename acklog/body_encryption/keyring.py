"""Keys in a file: one that new messages are encrypted by, and earlier ones for what was encrypted before.

    # the first key is for new messages
    2026-11 q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=
    2026-05 ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8=

A line has an id and 32 bytes in base64; ids are in clear beside each message. The file is read again when a data key is
made and when an id is met that it did not have, so that keys are added while a process runs.
"""

import base64
import logging
from collections.abc import Callable
from pathlib import Path

from acklog import runtime
from acklog.body_encryption.aes_gcm import AESGCM, KEY_BYTES, NONCE_BYTES, InvalidTag
from acklog.body_encryption.envelope import KEY_ID_BYTES_MAX
from acklog.errors import DecryptionFailed, InvalidArgument, UnknownKey

KEYRING_BYTES_MAX = 64 * 1024
KEYRING_KEYS_MAX = 100
KEYRING_INTERVAL_MS = 1_000
"""The file is read so often at most for ids that it does not have."""
_COMMENT = b"#"
_logger = logging.getLogger("acklog.body_encryption")


class Keyring:
    """A `KeyProvider`. Raises InvalidArgument for a file that is none. Where it cannot be read later, the keys of
    before count, and that is said once."""

    def __init__(self, path: str, *, now_ms: Callable[[], float] = runtime.monotonic_ms) -> None:
        self._path = path
        self._now_ms = now_ms
        self._has_failed = False
        self._keys = _keys_in_file(path)
        self._read_at_ms = now_ms()

    def __repr__(self) -> str:
        return f"Keyring({self._path!r}, {list(self._keys)})"

    def wrap(self, data_key: bytes, /) -> tuple[str, bytes]:
        self._read()
        key_id, key = next(iter(self._keys.items()))
        nonce = runtime.random_bytes(NONCE_BYTES)  # a key wraps few: never so many that two of them could be the same
        return key_id, nonce + AESGCM(key).encrypt(nonce, data_key, _bound(key_id))

    def unwrap(self, key_id: str, wrapped: bytes, /) -> bytes:
        if key_id not in self._keys and self._now_ms() - self._read_at_ms >= KEYRING_INTERVAL_MS:
            self._read()
        key = self._keys.get(key_id)
        if key is None:
            raise UnknownKey(f"the key {key_id!r} is not in {self._path}: add its line, behind the first one")
        try:
            return AESGCM(key).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _bound(key_id))
        except (InvalidTag, ValueError):
            detail = f"the wrapped key was changed, or {self._path} has another key as {key_id!r} than the sender"
            raise DecryptionFailed(detail) from None

    def _read(self) -> None:
        try:
            self._keys = _keys_in_file(self._path)
        except InvalidArgument as error:
            if not self._has_failed:
                _logger.warning("the keyring cannot be read again, its earlier keys count: %s", error)
            self._has_failed = True
        else:
            self._has_failed = False
        self._read_at_ms = self._now_ms()


def parse_keyring(content: bytes) -> dict[str, bytes]:
    """By id, in order. Raises ValueError, which shows nothing of a key."""
    keys: dict[str, bytes] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(_COMMENT):
            continue
        words = line.split()
        key_id = words[0].decode("ascii", "replace")
        if len(words) != 2 or not key_id.isascii() or not key_id.isprintable() or len(key_id) > KEY_ID_BYTES_MAX:
            detail = f"an id of printable ASCII, {KEY_ID_BYTES_MAX} characters at most, and a key"
            raise ValueError(f"line {number} is not {detail}")
        if key_id in keys:
            raise ValueError(f"line {number} has the id {key_id!r}, and so has one before")
        keys[key_id] = _key(words[1], number)
    if not 1 <= len(keys) <= KEYRING_KEYS_MAX:
        raise ValueError(f"it has {len(keys)} keys, it must have 1 to {KEYRING_KEYS_MAX}")
    return keys


def _key(text: bytes, line: int) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"line {line}: the key is not {KEY_BYTES} bytes in base64 (openssl rand -base64 {KEY_BYTES})")
    return key


def _keys_in_file(path: str) -> dict[str, bytes]:
    try:
        with Path(path).open("rb") as file:
            content = file.read(KEYRING_BYTES_MAX + 1)
        if len(content) > KEYRING_BYTES_MAX:
            raise ValueError(f"it has more than {KEYRING_BYTES_MAX} bytes")
        return parse_keyring(content)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"the keyring {path} cannot be used: {error}", field="path") from error


def _bound(key_id: str) -> bytes:
    return b"acklog data key " + key_id.encode()
