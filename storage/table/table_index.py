"""The port behind which it is kept where the last message of each key of a partition is: derived from the committed
part of its messages, and never an authority. Where it is not there, or damaged, it is made anew from the log; what it
says is held against the message itself.

Calls block, and come one at a time. Each raises TableIndexFailedError where the index cannot be used any more.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import NamedTuple, Protocol, TypeVar

from storage.log.keys import LogKey

_Result = TypeVar("_Result")

TABLES_DIRECTORY = "tables"
"""Where those on disk are, in a data directory."""

NOWHERE = -1
"""In the place of an offset: nothing is left of the key."""

_DIGEST_BYTES = 16  # nobody finds two keys with the same one


class TableIndexFailedError(Exception):
    """It has to be made anew."""


class TableState(NamedTuple):
    """Everything below `applied` is in the index; the message before it is of `applied_epoch` (-1: there is none).
    Something of the log up to `lost_end` could not be read (0: all could)."""

    applied: int
    applied_epoch: int = -1
    lost_end: int = 0


class TableIndex(Protocol):
    """Of one partition."""

    @property
    def state(self) -> TableState: ...

    def apply(self, latest: Mapping[bytes, int], state: TableState) -> None:
        """Take over where the last message of each key is, by the key's digest, of what follows `state.applied`: all of
        it or nothing."""
        ...

    def find(self, digest: bytes) -> int:
        """NOWHERE for what it does not know."""
        ...

    def forget_below(self, log_start: int) -> None:
        """What was there is gone."""
        ...

    def clear(self, log_start: int) -> None:
        """Nothing is known; the log begins at `log_start`."""
        ...

    def close(self) -> None: ...


class TableIndexes(Protocol):
    """Of one node. `open` and `remove` block, as the calls of an index do: `run` is for all of them."""

    async def run(self, call: Callable[[], _Result]) -> _Result: ...

    def open(self, key: LogKey) -> TableIndex: ...

    def remove(self, key: LogKey) -> None:
        """It need not be there, and must not be open."""
        ...


def digest_of(key: str) -> bytes:
    """Of one size, however long the key is."""
    return blake2b(key.encode(), digest_size=_DIGEST_BYTES).digest()
