"""Where the logs begin and end, as their leaders say: never less than this gateway has shown before."""

from app.gateway.routing import PartitionLeaders
from app.services.shown_ends import ShownEnds
from storage.rpc.messages import PositionsRequest, PositionsResponse
from storage.rpc.node_api import NodeApi


class LogEnds:
    """`shown` is what readers of the logs were told."""

    def __init__(self, leaders: PartitionLeaders, *, partitions_max: int) -> None:
        self.shown = ShownEnds(partitions_max)
        self._leaders = leaders

    async def positions(
        self, topic_id: str, partition: int, *, deadline_ms: int, group_id: str = "", consumers_max: int = 0
    ) -> PositionsResponse:
        """With the age of what one group has not done, and who receives for it. Raises ServerError: why the leader
        could not be asked until then."""

        async def ask(node: NodeApi, _remaining_ms: int) -> PositionsResponse:
            answer = await node.positions(PositionsRequest(topic_id, partition, group_id, consumers_max))
            self.shown.check_not_behind(
                topic_id, partition, leader_epoch=answer.leader_epoch, high_watermark=answer.high_watermark
            )
            return answer

        answer = await self._leaders.call(topic_id, partition, ask, deadline_ms=deadline_ms)
        answer.high_watermark = self.shown.show(
            topic_id, partition, leader_epoch=answer.leader_epoch, high_watermark=answer.high_watermark
        )
        return answer
