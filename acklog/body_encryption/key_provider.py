"""The port of a user's keys, by which data keys are wrapped: those of a keyring, or of a key management service."""

from typing import Protocol


class KeyProvider(Protocol):
    """Both calls may take their time, and come from any thread, several at once. They are few: one for each data key
    that a process makes, and one for each that it meets and has not kept."""

    def wrap(self, data_key: bytes, /) -> tuple[str, bytes]:
        """The id of the key that is for new messages, and the data key wrapped by it: 128 and 2,048 bytes at most. What
        it raises keeps messages from being sent."""
        ...

    def unwrap(self, key_id: str, wrapped: bytes, /) -> bytes:
        """The data key. Raises UnknownKey for an id that it does not know, and DecryptionFailed for a wrapped key that
        was changed; anything else counts as a failure that passes."""
        ...
