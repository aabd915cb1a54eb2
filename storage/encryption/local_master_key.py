"""A master key that the process itself has, from a file or its environment: 256 bits."""

import base64
import binascii
from hashlib import sha256

from cluster.model.values import DataKey
from cluster.ports.entropy import Entropy
from storage.encryption.master_key import MasterKeyError
from storage.encryption.writer_key import KEY_BYTES, NONCE_BYTES

MASTER_KEY_TEXT_BYTES_MAX = 1024
_ID_LENGTH = 16


class LocalMasterKey:
    """Data keys are few, and each is wrapped once: nonces are random."""

    def __init__(self, key: bytes, entropy: Entropy) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # with the first master key

        self._cipher = AESGCM(key)
        self._id = sha256(b"acklog master key " + key).hexdigest()[:_ID_LENGTH]
        self._entropy = entropy

    def __repr__(self) -> str:
        return f"LocalMasterKey({self._id})"

    @property
    def id(self) -> str:
        return self._id

    async def wrap(self, data_key: bytes, *, bound: bytes) -> bytes:
        nonce = random_bytes(self._entropy, NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data_key, bound)

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        return self._unwrap(wrapped, bound)

    def unwrapped(self, data_key: DataKey, *, bound: bytes) -> bytes:
        """At once. Raises MasterKeyError, also for one that another master key has wrapped."""
        if data_key.master_key != self._id:
            raise MasterKeyError(f"it is wrapped by the master key {data_key.master_key}, this one is {self._id}")
        return self._unwrap(data_key.wrapped, bound)

    def _unwrap(self, wrapped: bytes, bound: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], bound)
        except (InvalidTag, ValueError):
            raise MasterKeyError("the wrapped data key was changed, or belongs to another topic") from None


def random_bytes(entropy: Entropy, count: int) -> bytes:
    return b"".join(entropy.bits64().to_bytes(8, "big") for _ in range(-(-count // 8)))[:count]


def parse_master_key(text: bytes) -> bytes:
    """From 64 hexadecimal digits, or from base64. Raises ValueError, which shows nothing of the text."""
    stripped = text.strip()
    if len(stripped) <= MASTER_KEY_TEXT_BYTES_MAX:
        for decode in (binascii.unhexlify, _from_base64):
            try:
                key = decode(stripped)
            except ValueError:
                continue
            if len(key) == KEY_BYTES:
                return key
    raise ValueError(f"it is not {KEY_BYTES} bytes in base64 or hexadecimal digits (openssl rand -base64 {KEY_BYTES})")


def _from_base64(text: bytes) -> bytes:
    return base64.b64decode(text, validate=True)
