"""The port of master keys, by which data keys are wrapped: nobody but nodes has them, and no file of the store does."""

from dataclasses import dataclass
from typing import Protocol

from cluster.model.values import DataKey


class MasterKeyError(Exception):
    """A data key could not be wrapped or unwrapped; the text says why, and holds nothing secret."""


class MasterKey(Protocol):
    """`id` says which one it is, and nothing of what it is. `bound` is what a data key belongs to; one that was wrapped
    for something else is not unwrapped, where the master key can tell."""

    @property
    def id(self) -> str: ...

    async def wrap(self, data_key: bytes, *, bound: bytes) -> bytes:
        """Raises MasterKeyError."""
        ...

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        """Raises MasterKeyError."""
        ...


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """What a node has: the one that it wraps by, and, while that is being changed, the one before."""

    current: MasterKey | None = None
    previous: MasterKey | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(each.id for each in (self.current, self.previous) if each is not None)

    def of(self, data_key: DataKey) -> MasterKey:
        """The one that has wrapped it. Raises MasterKeyError."""
        for each in (self.current, self.previous):
            if each is not None and each.id == data_key.master_key:
                return each
        raise MasterKeyError(f"this node does not have the master key {data_key.master_key}")


NO_MASTER_KEYS = MasterKeys()


def bound_to(topic_id: str, number: int) -> bytes:
    """What a data key belongs to."""
    return f"acklog-data-key {topic_id} {number}".encode()
