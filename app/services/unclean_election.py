"""Unclean election on an operator's request: first what would be lost, then the election (rule R9)."""

import asyncio
from dataclasses import dataclass

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.cluster import UncleanElectionFields, UncleanPlanFields
from app.calls.unclean_election import (
    LogReachView,
    UncleanElectedView,
    UncleanElectionView,
    UncleanGroupView,
    UncleanLossView,
    UncleanOrderView,
    UncleanPlanView,
    UncleanReplicaView,
)
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.unclean_election import LogReach, Loss, ReplicaReport, longest, loss_by, refuse_while_clean, why_not
from cluster.model.values import PartitionState, Topic
from storage.rpc.messages import ReplicaReportRequest

logger = structlog.get_logger(__name__)

ASK_TIMEOUT_MS = 2_000
"""How long a node may take to say how far its replica goes; one that does not counts as out of reach."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A partition as of `revision`, and what its replicas say."""

    topic: Topic
    state: PartitionState
    revision: int
    reports: tuple[ReplicaReport, ...]
    silent: dict[int, str]
    reasons: dict[int, str]
    progress: dict[str, int]

    @property
    def electable(self) -> list[ReplicaReport]:
        return [each for each in self.reports if each.node not in self.reasons]

    def loss(self, chosen: ReplicaReport) -> Loss:
        return loss_by(chosen, self.reports, self.state, self.progress.values())


class UncleanElections:
    """Both calls need the right to manage the cluster: what is lost here may be what others wait for."""

    def __init__(self, gateway: Gateway, catalog: Catalog) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._metadata = gateway.metadata

    async def plan(self, name: str, partition: int, fields: UncleanPlanFields, principal: Principal) -> UncleanPlanView:
        """Raises ServerError TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, CLEAN_ELECTION_POSSIBLE, REPLICA_NOT_ELECTABLE (the
        node that `fields` names), UNSUPPORTED, UNAVAILABLE."""
        look = await self._look(name, partition, principal)
        if fields.node is None:
            chosen = longest(look.electable)
        else:
            chosen = _named(look, fields.node)
        return _plan_view(look, chosen)

    async def elect(
        self, name: str, partition: int, fields: UncleanElectionFields, principal: Principal
    ) -> UncleanElectedView:
        """Raises ServerError as `plan` does, and CONFLICT: something is not any more as the plan had it."""
        look = await self._look(name, partition, principal)
        chosen = _named(look, fields.node)
        is_same = (chosen.incarnation, chosen.directory_id) == (fields.incarnation, fields.directory_id)
        if not is_same or look.revision != fields.revision:
            raise ServerError(ProblemCode.CONFLICT, "The partition or its replica has changed since it was looked at.")
        loss = look.loss(chosen)
        state = await self._gateway.steering.elect_unclean(
            look.topic.name, partition, chosen, loss, revision=look.revision
        )
        mark = unclean_view(state)
        assert mark is not None
        logger.error(
            "unclean_election",
            topic=look.topic.name,
            partition=partition,
            node=chosen.node,
            leader_epoch=mark.leader_epoch,
            log_end=loss.log_end,
            lost_below=loss.lost_below,
            unasked=loss.unasked,
        )
        return UncleanElectedView(look.topic.name, partition, mark)

    async def _look(self, name: str, partition: int, principal: Principal) -> _Look:
        principal.require_on_cluster(Action.MANAGE)
        if self._gateway.is_embedded:
            detail = "this server is one node by itself: nobody else could be elected"
            raise ServerError(ProblemCode.UNSUPPORTED, detail)
        topic = await self._catalog.operated_partition(name, partition, principal, Action.MANAGE)
        await self._catalog.confirm_nodes()
        await self._catalog.confirm_partition(topic, partition)
        state = self._metadata.partition(topic.id, partition)
        revision = self._metadata.revision_of(keys.partition(topic.id, partition))
        if state is None:
            raise ServerError(ProblemCode.UNAVAILABLE, "The partition has no replicas yet.", retry_after_ms=1000)
        living = {node.node_id: node for node in self._metadata.nodes()}
        refuse_while_clean(state, living)
        progress = await self._gateway.steering.progress_of(topic.id, partition)
        answers = await ask_each(state.replicas, lambda node: self._ask(topic, partition, node))
        reports = tuple(each for each in answers if isinstance(each, ReplicaReport))
        silent = {
            node: each.detail
            for node, each in zip(state.replicas, answers, strict=True)
            if isinstance(each, ServerError)
        }
        found = {each.node: why_not(each, state, living) for each in reports}
        reasons = {node: reason for node, reason in found.items() if reason is not None}
        return _Look(topic, state, revision, reports, silent, reasons, progress)

    async def _ask(self, topic: Topic, partition: int, node: int) -> ReplicaReport:
        if self._metadata.node(node) is None:
            raise ServerError(ProblemCode.UNAVAILABLE, "it is not registered")
        try:
            async with asyncio.timeout(ASK_TIMEOUT_MS / 1000):
                said = await self._gateway.nodes.client(node).replica_report(ReplicaReportRequest(topic.id, partition))
        except TimeoutError as error:
            raise ServerError(ProblemCode.UNAVAILABLE, "it does not answer") from error
        return ReplicaReport(
            node,
            said.incarnation,
            said.directory_id,
            LogReach(*msgspec.structs.astuple(said.messages)),
            LogReach(*msgspec.structs.astuple(said.delivery)),
            said.is_damaged,
        )


def unclean_view(state: PartitionState) -> UncleanElectionView | None:
    """A partition's mark, as clients see it."""
    mark = state.unclean_election
    return None if mark is None else UncleanElectionView(*msgspec.structs.astuple(mark))


def _named(look: _Look, node: int) -> ReplicaReport:
    """Raises ServerError REPLICA_NOT_ELECTABLE."""
    reason = look.silent.get(node) or look.reasons.get(node)
    for report in look.electable:
        if report.node == node:
            return report
    raise ServerError(ProblemCode.REPLICA_NOT_ELECTABLE, f"Node {node}: {reason or 'it holds no replica'}.")


def _plan_view(look: _Look, chosen: ReplicaReport | None) -> UncleanPlanView:
    by_node = {each.node: each for each in look.reports}
    replicas = [_replica_view(look, node, by_node.get(node)) for node in look.state.replicas]
    loss = order = None
    if chosen is not None:
        found = look.loss(chosen)
        groups = [
            UncleanGroupView(group, progress, min(progress, found.log_end))
            for group, progress in sorted(look.progress.items())
        ]
        loss = UncleanLossView(found.log_end, found.lost_below, list(found.unasked), groups)
        order = UncleanOrderView(chosen.node, chosen.incarnation, chosen.directory_id, look.revision)
    state = look.state
    return UncleanPlanView(look.topic.name, state.partition, state.leader_epoch, replicas, loss, order)


def _replica_view(look: _Look, node: int, report: ReplicaReport | None) -> UncleanReplicaView:
    in_sync = node in look.state.isr
    if report is None:
        is_registered = look.silent.get(node) != "it is not registered"
        return UncleanReplicaView(node, is_registered, in_sync, None, None, look.silent.get(node))
    return UncleanReplicaView(
        node, True, in_sync, _reach_view(report.messages), _reach_view(report.delivery), look.reasons.get(node)
    )


def _reach_view(reach: LogReach) -> LogReachView:
    return LogReachView(reach.log_start, reach.log_end, reach.last_epoch, reach.high_watermark)
