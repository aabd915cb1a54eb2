"""Reading the log as it is: no group, no lease."""

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.records import FirstOffset, ReadFrom, RecordsCommand, RecordsRead
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.leader_epochs import check_epoch_has_been
from app.services.log_ends import LogEnds
from app.services.quotas import QuotaService
from app.services.replica_reads import ReplicaReads
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import RecordsRequest, RecordsResponse
from storage.rpc.node_api import NodeApi


class RecordsService:
    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        ends: LogEnds,
        waiting: WaitingRequests,
        quotas: QuotaService,
    ) -> None:
        self._settings = gateway.settings
        self._catalog = catalog
        self._leaders = leaders
        self._waiting = waiting
        self._ends = ends
        self._quotas = quotas
        self._replicas = ReplicaReads(gateway, self._check_not_behind)

    async def read(self, command: RecordsCommand, principal: Principal, patience: Patience) -> RecordsRead:
        """Raises ServerError. A wait that is given up (the client is gone, the server stops) reads without waiting."""
        topic = await self._catalog.read_partition(command.topic, command.partition, principal)
        await self._quotas.admit_read(topic, principal)
        request = RecordsRequest(
            topic.id,
            command.partition,
            await self._first_offset(topic, command),
            command.time_ms,
            command.max_bytes,
            leader_epoch=command.epoch,
            filter="" if command.message_filter is None else command.message_filter.text,
        )
        if command.first is FirstOffset.EARLIEST:
            request.time_ms = 0  # every batch was appended after 1970
        response: RecordsResponse | None = None
        if command.wait_ms > 0:
            request.wait_ms = command.wait_ms
            with self._waiting.one_more(principal):
                response = await patience.wait(self._call(request, command.read_from))
            request.wait_ms = 0
        if response is None:
            response = await self._call(request, command.read_from)
        response.high_watermark = self._ends.shown.show(
            topic.id,
            command.partition,
            leader_epoch=response.leader_epoch,
            high_watermark=response.high_watermark,
        )
        self._quotas.charge_read(response, topic, principal)
        return RecordsRead(topic, command.partition, response, command.until, command.message_filter)

    async def _first_offset(self, topic: Topic, command: RecordsCommand) -> int:
        if command.first is not FirstOffset.LATEST:
            return command.offset
        deadline_ms = self._leaders.deadline_in(self._settings.request_timeout_ms)
        return (await self._ends.positions(topic.id, command.partition, deadline_ms=deadline_ms)).high_watermark

    async def _call(self, request: RecordsRequest, read_from: ReadFrom) -> RecordsResponse:
        if read_from is ReadFrom.NEAREST:
            response = await self._replicas.read(request)
            if response is not None:
                return response

        async def records(node: NodeApi, _remaining_ms: int) -> RecordsResponse:
            try:
                response = await node.records(request)
            except ServerError as error:
                if error.code is ProblemCode.UNAVAILABLE and error.field == "epoch":
                    await check_epoch_has_been(
                        self._catalog, request.topic_id, request.partition, request.leader_epoch, field="epoch"
                    )
                raise
            self._check_not_behind(request, response)
            return response

        return await self._leaders.call(
            request.topic_id,
            request.partition,
            records,
            deadline_ms=self._leaders.deadline_in(self._settings.request_timeout_ms + request.wait_ms),
        )

    def _check_not_behind(self, request: RecordsRequest, response: RecordsResponse) -> None:
        """Messages that are there are given, whoever has them. Raises ServerError UNAVAILABLE."""
        if response.next_offset == response.offset:
            self._ends.shown.check_not_behind(
                request.topic_id,
                request.partition,
                leader_epoch=response.leader_epoch,
                high_watermark=response.high_watermark,
            )
