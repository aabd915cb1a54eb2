"""The data key that a process encrypts by, until it has been used enough.

Nonces are random, of 96 bits: among 2^20 of a key the chance that two are the same is below 2^-57, and NIST allows 2^32
(SP 800-38D). 64 GiB are 2^32 blocks, among which AES still looks random. A process that was forked off makes a key of
its own: it would not know what the other one uses up.
"""

from collections.abc import Callable
from threading import Lock

from acklog import runtime
from acklog.body_encryption.aes_gcm import AESGCM, KEY_BYTES
from acklog.body_encryption.envelope import head_of
from acklog.body_encryption.key_provider import KeyProvider
from acklog.errors import AcklogError, InvalidArgument, KeyUnavailable

DATA_KEY_MESSAGES_MAX = 2**20
DATA_KEY_BYTES_MAX = 64 * 1024**3
DATA_KEY_AGE_MS_MAX = 24 * 60 * 60 * 1000
"""So that another key of the user's comes to be used."""


class SendingKey:
    """One data key, wrapped, and how much it was used."""

    __slots__ = ("bytes_left", "cipher", "key_id", "messages_left", "until_ms", "wrapped")

    def __init__(self, key: bytes, key_id: str, wrapped: bytes, *, until_ms: float) -> None:
        self.cipher = AESGCM(key)
        self.key_id = key_id
        self.wrapped = wrapped
        self.until_ms = until_ms
        self.messages_left = DATA_KEY_MESSAGES_MAX
        self.bytes_left = DATA_KEY_BYTES_MAX

    def has_room(self, size_bytes: int, now_ms: float) -> bool:
        return self.messages_left > 0 and self.bytes_left >= size_bytes and now_ms < self.until_ms


class _Current:
    """Of one process: the lock of a process that forked may have been held."""

    __slots__ = ("key", "lock", "process")

    def __init__(self, process: int) -> None:
        self.process = process
        self.lock = Lock()
        self.key: SendingKey | None = None


class SendingKeys:
    """May be used by any number of threads."""

    def __init__(
        self,
        provider: KeyProvider,
        *,
        now_ms: Callable[[], float] = runtime.monotonic_ms,
        process_id: Callable[[], int] = runtime.process_id,
    ) -> None:
        self._provider = provider
        self._now_ms = now_ms
        self._process_id = process_id
        self._current = _Current(process_id())

    def is_ready(self, size_bytes: int) -> bool:
        """Whether a message of that size can be encrypted without asking the provider."""
        key = self._of_this_process().key
        return key is not None and key.has_room(size_bytes, self._now_ms())

    def take(self, size_bytes: int) -> SendingKey:
        """The key for a message of that size, which counts from now on. Raises KeyUnavailable, InvalidArgument."""
        current = self._of_this_process()
        with current.lock:
            key = current.key
            if key is None or not key.has_room(size_bytes, self._now_ms()):
                key = current.key = self._make()
            key.messages_left -= 1
            key.bytes_left -= size_bytes
            return key

    def _of_this_process(self) -> _Current:
        current = self._current
        if current.process != self._process_id():
            current = self._current = _Current(self._process_id())
        return current

    def _make(self) -> SendingKey:
        key = runtime.random_bytes(KEY_BYTES)
        try:
            key_id, wrapped = self._provider.wrap(key)
        except AcklogError:
            raise
        except Exception as error:
            raise KeyUnavailable(f"no data key could be wrapped, so nothing was sent: {error!r}") from error
        try:
            head_of("t", key_id, wrapped)
        except ValueError as error:
            raise InvalidArgument(f"what the key provider's wrap gave cannot be sent: {error}") from error
        return SendingKey(key, key_id, wrapped, until_ms=self._now_ms() + DATA_KEY_AGE_MS_MAX)
