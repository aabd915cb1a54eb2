"""Topics that are encrypted at rest, for `await`."""

from acklog.client import encryption_calls
from acklog.client.caller import Caller
from acklog.encryption import EncryptionState


class AsyncEncryption:
    """`client.encryption`. Every method raises AcklogError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def status(self, topic: str) -> EncryptionState:
        """By which data keys the topic is encrypted, and which master keys the nodes have. Raises TopicNotFound."""
        return await self._caller.perform(encryption_calls.status(topic))

    async def rotate(self, topic: str) -> EncryptionState:
        """Have what is stored of the topic from now on encrypted by another data key. Returns at once: `status` tells
        when it is there. Raises TopicNotFound, NotEncrypted, TooManyDataKeys."""
        return await self._caller.perform(encryption_calls.rotate(topic))
