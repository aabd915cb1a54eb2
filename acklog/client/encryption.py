"""Topics that are encrypted at rest, without `await`. What each method does stands with its twin in
`async_encryption`."""

from collections.abc import Callable

from acklog.client.async_encryption import AsyncEncryption
from acklog.client.background import Background
from acklog.encryption import EncryptionState


class SyncEncryption:
    """`client.encryption`. Every method raises AcklogError."""

    def __init__(self, background: Background, twin: Callable[[], AsyncEncryption]) -> None:
        self._run = background.run
        self._twin = twin

    def status(self, topic: str) -> EncryptionState:
        """By which data keys the topic is encrypted, and which master keys the nodes have. Raises TopicNotFound."""
        return self._run(lambda: self._twin().status(topic))

    def rotate(self, topic: str) -> EncryptionState:
        """Have what is stored of the topic from now on encrypted by another data key. Returns at once: `status` tells
        when it is there. Raises TopicNotFound, NotEncrypted, TooManyDataKeys."""
        return self._run(lambda: self._twin().rotate(topic))
