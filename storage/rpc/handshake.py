"""How two processes of different releases find the words that both know: the first exchange of every connection.

Whoever dials says which versions of the protocol it speaks, from its oldest to its newest. The other side chooses the
newest that both speak and says so; every later message of the connection means what it means in that version. Without
a common version it refuses, naming both ranges, and hangs up.

The layout of frames, the number of the hello, and these two messages are the same in every version, or nobody could
ever say which one it speaks. A version is raised when a call is added, or when a field changes what a message means to
a receiver that does not know it. A field at the end with a default that old receivers may ignore needs none.
"""

from dataclasses import dataclass

import msgspec

OLDEST_VERSION = 1
NEWEST_VERSION = 11


class Hello(msgspec.Struct, array_like=True, gc=False):
    """The versions that whoever dialled speaks."""

    oldest: int
    newest: int
    is_node: bool = False
    """Else a gateway, or a node of a release that did not say."""


class Welcome(msgspec.Struct, array_like=True, gc=False):
    """The version of this connection."""

    version: int


@dataclass(frozen=True, slots=True)
class ProtocolVersions:
    """What a process speaks."""

    oldest: int = OLDEST_VERSION
    newest: int = NEWEST_VERSION

    def __post_init__(self) -> None:
        if not 1 <= self.oldest <= self.newest:
            raise ValueError(f"versions {self.oldest} to {self.newest}: oldest must be at least 1 and not above newest")

    def common_with(self, hello: Hello) -> int | None:
        """The newest version that both speak."""
        version = min(self.newest, hello.newest)
        return version if version >= max(self.oldest, hello.oldest) else None


class HandshakeError(Exception):
    """The process at the address cannot be talked to: it speaks other versions, or something else altogether."""
