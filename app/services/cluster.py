"""What operators see of the cluster, and what they ask of it. The controller carries it out.

Everything shown comes from the gateway's own metadata view, so it is there also while the coordination store is not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.cluster import (
    ClusterNodeView,
    ClusterView,
    MoveProgressView,
    OrderView,
    PlanFields,
    PlannedMoveView,
    PlanView,
    StuckPartitionView,
    TroubledPartitionView,
)
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from cluster.controller.dry_run import DryRun
from cluster.controller.image import ClusterImage
from cluster.controller.moves import Move
from cluster.controller.progress import (
    ClusterProgress,
    MoveProgress,
    NodeProgress,
    PartitionTrouble,
    progress,
    troubled,
)
from cluster.controller.view_image import image_of
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import needed_by_catalog
from cluster.model.steering import PartitionOrder
from cluster.model.values import NO_LEADER, PartitionState

STORE_PATIENCE_MS = 1_000
"""How long a look at the cluster waits for the coordination store to answer before it says that it does not."""


class ClusterService:
    """Looking needs that right on the cluster, and steering the one to manage it; moving a topic, to manage that."""

    def __init__(self, gateway: Gateway, catalog: Catalog) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._metadata = gateway.metadata
        self._steering = gateway.steering

    # --- looking -----------------------------------------------------------------------------------------------------

    async def look(self, principal: Principal, *, limit: int) -> ClusterView:
        principal.require_on_cluster(Action.LOOK)
        store_reachable = await self._steering.store_answers(within_ms=STORE_PATIENCE_MS)
        image = image_of(self._metadata)
        figures = progress(image)
        topics = _VisibleTopics(image, principal)
        moves = [view for each in figures.moves if (view := topics.move_progress(each)) is not None]
        is_any_lacking = figures.without_leader or figures.below_min_isr or figures.under_replicated
        lacking = (topics.troubled(state, trouble) for state, trouble in (troubled(image) if is_any_lacking else ()))
        troubles = list(islice((view for view in lacking if view is not None), limit + 1))
        return self._view(
            figures,
            moves=moves[:limit],
            troubles=troubles[:limit],
            store_reachable=store_reachable,
            is_complete=max(len(moves), len(troubles)) <= limit,
        )

    def _view(
        self,
        figures: ClusterProgress,
        *,
        moves: list[MoveProgressView],
        troubles: list[TroubledPartitionView],
        store_reachable: bool,
        is_complete: bool,
    ) -> ClusterView:
        return ClusterView(
            embedded=self._gateway.is_embedded,
            controller=self._controller(figures),
            needed_protocol=needed_by_catalog(self._metadata.groups(), self._metadata.topics()),
            store_reachable=store_reachable,
            automatic_moves=figures.automatic_moves,
            nodes=[node_view(each) for each in figures.nodes],
            partitions=figures.partitions,
            without_leader=figures.without_leader,
            below_min_insync=figures.below_min_isr,
            under_replicated=figures.under_replicated,
            decommissioned=figures.decommissioned,
            moving=len(figures.moves),
            orders_waiting=figures.orders_waiting,
            moves=moves,
            troubled=troubles,
            complete=is_complete,
        )

    def _controller(self, figures: ClusterProgress) -> int | None:
        if self._gateway.is_embedded:
            return next((each.node_id for each in figures.nodes), None)
        claim = self._metadata.steering.controller
        return None if claim is None else claim.node_id

    async def plan(self, fields: PlanFields, principal: Principal) -> PlanView:
        """What would be moved; nothing is. Raises ServerError for what could not be asked for either."""
        principal.require_on_cluster(Action.LOOK)
        if fields.drain or fields.moves:
            self._check_can_move()
        for position, each in enumerate(fields.moves):
            with faults_at(f"moves[{position}]"):
                await self._look_for(each.topic, each.partition, principal, Action.LOOK)
        try:
            orders = self._checked(fields)
        except ServerError as error:
            if error.code is not ProblemCode.INVALID_FIELD:
                raise
            await self._catalog.confirm_nodes()  # it may name one that this gateway has not heard of yet
            orders = self._checked(fields)
        image = image_of(self._metadata)
        run = DryRun(image, drain=fields.drain, lost=fields.lost, orders=orders)
        moves, is_complete = await self._found(run, fields.limit)
        topics = _VisibleTopics(image, principal)
        stuck = run.stuck() if is_complete else ()
        return PlanView(
            moves=[view for move in moves if (view := topics.planned(move)) is not None],
            stuck=[
                StuckPartitionView(name, number)
                for topic_id, number in stuck
                if (name := topics.name(topic_id)) is not None
            ],
            complete=is_complete,
        )

    def _checked(self, fields: PlanFields) -> list[PartitionOrder]:
        """What the moves would be asked for by. Raises ServerError for what could not be asked for."""
        for position, node in enumerate(fields.drain):
            with faults_at(f"drain[{position}]"):
                self._steering.check_drain(node)
        if fields.lost:
            _check_known(image_of(self._metadata), fields.lost)
        orders = []
        for position, each in enumerate(fields.moves):
            with faults_at(f"moves[{position}]"):
                orders.append(self._steering.order(each.topic, each.partition, each.replicas))
        return orders

    async def _look_for(self, name: str, partition: int, principal: Principal, action: Action) -> None:
        """Have the view show the partition, if there is such. Raises ServerError FORBIDDEN, TOPIC_NOT_FOUND."""
        topic = await self._catalog.operated_topic(name, principal, action)
        await self._catalog.grown(topic, partition)

    async def _found(self, run: DryRun, limit: int) -> tuple[list[Move], bool]:
        """So many moves, found within a request's time, and whether these are all."""
        clock = self._gateway.clock
        deadline_ms = clock.monotonic_ms() + self._gateway.settings.request_timeout_ms
        moves: list[Move] = []
        for move in run.moves():
            if len(moves) == limit or clock.monotonic_ms() >= deadline_ms:
                return moves, False
            moves.append(move)
            await clock.sleep(0)  # one may take milliseconds to find: other requests have their turn
        return moves, True

    def _check_can_move(self) -> None:
        """Raises ServerError UNSUPPORTED."""
        if self._gateway.is_embedded:
            detail = (
                "this server is one node by itself, and there is nowhere to move replicas; a cluster is made of "
                "acklog node and acklog gateway"
            )
            raise ServerError(ProblemCode.UNSUPPORTED, detail)

    # --- steering ----------------------------------------------------------------------------------------------------

    def _check_may_steer(self, principal: Principal) -> None:
        """Raises ServerError FORBIDDEN, UNSUPPORTED (one node by itself)."""
        principal.require_on_cluster(Action.MANAGE)
        self._check_can_move()

    async def drain(self, node_id: int, principal: Principal) -> ClusterNodeView:
        """The node as it is now. Raises ServerError INVALID_FIELD (it holds nothing, or is the only one)."""
        self._check_may_steer(principal)
        await self._catalog.confirm_nodes()
        await self._steering.drain(node_id)
        known = progress(image_of(self._metadata)).nodes
        return next(node_view(each) for each in known if each.node_id == node_id)

    async def stop_draining(self, node_id: int, principal: Principal) -> None:
        self._check_may_steer(principal)
        await self._steering.stop_draining(node_id)

    async def reassign(self, topic: str, partition: int, replicas: list[int], principal: Principal) -> OrderView:
        """Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD."""
        principal.require_somewhere(Action.MANAGE)
        self._check_can_move()
        await self._look_for(topic, partition, principal, Action.MANAGE)
        await self._catalog.confirm_nodes()
        order = await self._steering.reassign(topic, partition, replicas)
        return OrderView(topic, partition, list(order.replicas))

    async def cancel(self, topic: str, partition: int, principal: Principal) -> None:
        """Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD."""
        principal.require_somewhere(Action.MANAGE)
        self._check_can_move()
        await self._look_for(topic, partition, principal, Action.MANAGE)
        await self._steering.cancel(topic, partition)

    async def pause(self, principal: Principal) -> None:
        self._check_may_steer(principal)
        await self._steering.pause_moves()

    async def resume(self, principal: Principal) -> None:
        self._check_may_steer(principal)
        await self._steering.resume_moves()


class _VisibleTopics:
    """Views of what concerns topics that the token is for; None for all others."""

    def __init__(self, image: ClusterImage, principal: Principal) -> None:
        self._image = image
        self._principal = principal

    def name(self, topic_id: str) -> str | None:
        entry = self._image.catalog.get(topic_id)
        if entry is None or entry.topic is None or not self._principal.may_on_topic(Action.LOOK, entry.topic.name):
            return None
        return entry.topic.name

    def move_progress(self, move: MoveProgress) -> MoveProgressView | None:
        name = self.name(move.topic_id)
        if name is None:
            return None
        return MoveProgressView(name, move.partition, list(move.before), list(move.after), list(move.waiting_for))

    def troubled(self, state: PartitionState, trouble: PartitionTrouble) -> TroubledPartitionView | None:
        name = self.name(state.topic_id)
        if name is None:
            return None
        leader = None if state.leader == NO_LEADER else state.leader
        return TroubledPartitionView(name, state.partition, trouble, leader, list(state.replicas), list(state.isr))

    def planned(self, move: Move) -> PlannedMoveView | None:
        name = self.name(move.topic_id)
        if name is None:
            return None
        return PlannedMoveView(name, move.partition, move.kind, list(move.before), list(move.after), move.reason)


@contextmanager
def faults_at(place: str) -> Iterator[None]:
    """What is wrong with a field of one item of a list is told with the item's place. Raises ServerError."""
    try:
        yield
    except ServerError as error:
        field = place if error.field in {None, "node"} else f"{place}.{error.field}"
        raise ServerError(error.code, error.detail, field=field, extra=error.extra) from None


def node_view(node: NodeProgress) -> ClusterNodeView:
    """A node as clients see it."""
    return ClusterNodeView(
        node=node.node_id,
        address=node.address,
        rack=node.rack,
        live=node.is_live,
        draining=node.is_draining,
        leaving=node.is_leaving,
        replicas=node.replicas,
        leaders=node.leaders,
        protocol=node.newest_protocol,
    )


def _check_known(image: ClusterImage, nodes: list[int]) -> None:
    known = [each.node_id for each in progress(image).nodes]
    for position, node in enumerate(nodes):
        if node not in known:
            detail = f"there is no node {node}; there are: {', '.join(map(str, known)) or 'none'}"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=f"lost[{position}]")
