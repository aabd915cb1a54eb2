"""The interface of a storage node, as the other nodes of its cluster use it: in process or over a connection."""

from typing import Protocol

import msgspec

from storage.replication.messages import FetchAnswer, FetchRequest, SnapshotAnswer, SnapshotRequest


class ProbeRequest(msgspec.Struct, array_like=True, gc=False):
    """Who is there? `node_id` is the one that asks. Positional on the wire, so fields are only added at the end."""

    node_id: int


class ProbeAnswer(msgspec.Struct, array_like=True, gc=False):
    """The node at this address, in its present life."""

    node_id: int
    incarnation: int


class PeerApi(Protocol):
    """Every call raises ServerError: UNAVAILABLE, OVERLOADED, TIMED_OUT, SHUTTING_DOWN, STORAGE_FAILED, INTERNAL. What
    a leader refuses it says in its answer. None of the calls changes anything but what the leader knows of the
    follower, so all of them may be made again."""

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        """Waits at the leader for up to `request.wait_ms`."""
        ...

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer: ...

    async def probe(self, request: ProbeRequest) -> ProbeAnswer:
        """Answered at once, whatever else the node does."""
        ...
