"""A PeerApi whose answers a test decides."""

import asyncio
from collections.abc import Callable
from typing import Any

from storage.replication.messages import FetchAnswer, FetchRequest, SnapshotAnswer, SnapshotRequest
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest


class FakePeer:
    """Knows no session, has no snapshots and is node 1 in its first life, until `behave` says otherwise."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.cancelled: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._behaviours: dict[str, Callable[[Any], Any]] = {
            "fetch": lambda request: FetchAnswer(
                request.follower.incarnation, request.session, request.sequence, [], is_unknown=True
            ),
            "snapshot": lambda request: SnapshotAnswer(request.leader_epoch, 0),
            "probe": lambda request: ProbeAnswer(1, 1),
        }

    def hold(self, name: str) -> asyncio.Event:
        """Calls of `name` wait until the returned event is set."""
        gate = self._gates[name] = asyncio.Event()
        return gate

    def behave(self, name: str, behaviour: Callable[[Any], Any]) -> None:
        """`behaviour(request)` is the answer, or raises it."""
        self._behaviours[name] = behaviour

    def calls(self, name: str) -> list[Any]:
        return [request for seen, request in self.seen if seen == name]

    async def _call(self, name: str, request: Any) -> Any:
        self.seen.append((name, request))
        try:
            if name in self._gates:
                await self._gates[name].wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        return self._behaviours[name](request)

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        return await self._call("fetch", request)  # type: ignore[no-any-return]

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        return await self._call("snapshot", request)  # type: ignore[no-any-return]

    async def probe(self, request: ProbeRequest) -> ProbeAnswer:
        return await self._call("probe", request)  # type: ignore[no-any-return]
