"""A PeerApi whose answers a test decides."""

from storage.replication.messages import FetchAnswer, FetchRequest, SnapshotAnswer, SnapshotRequest
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from tests.support.answers import Answers


class FakePeer(Answers):
    """Knows no session, has no snapshots and is node 1 in its first life, unless it is told otherwise."""

    def __init__(self) -> None:
        super().__init__(
            {
                "fetch": lambda request: FetchAnswer(
                    request.follower.incarnation, request.session, request.sequence, [], is_unknown=True
                ),
                "snapshot": lambda request: SnapshotAnswer(request.leader_epoch, 0),
                "probe": lambda request: ProbeAnswer(1, 1),
            }
        )

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        return await self._call("fetch", request)  # type: ignore[no-any-return]

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        return await self._call("snapshot", request)  # type: ignore[no-any-return]

    async def probe(self, request: ProbeRequest) -> ProbeAnswer:
        return await self._call("probe", request)  # type: ignore[no-any-return]
