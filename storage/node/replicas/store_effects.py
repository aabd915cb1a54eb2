"""What a replica's machine wants done in the coordination store, done."""

from collections.abc import Callable

import structlog

from cluster.model.values import Topic
from storage.node.replicas.background_tasks import BackgroundTasks
from storage.node.replicas.replica_context import ReplicaContext
from storage.replication.isr import ChangeOutcome
from storage.replication.leader_events import ChangeIsr, ForgetHandOvers, HandOver, LeaderEvent, ReadAssignment
from storage.replication.messages import PartitionId
from storage.replication.replica_events import GiveUpPlace

logger = structlog.get_logger(__name__)

StoreEffect = ChangeIsr | ReadAssignment | GiveUpPlace | HandOver | ForgetHandOvers


class StoreEffects:
    """Of one replica. `report` hears what came of each; what becomes of a place that is given up, the assignments
    tell."""

    def __init__(
        self,
        topic: Topic,
        partition: PartitionId,
        context: ReplicaContext,
        tasks: BackgroundTasks,
        report: Callable[[LeaderEvent], None],
    ) -> None:
        self._topic_name = topic.name
        self._partition = partition
        self._context = context
        self._tasks = tasks
        self._report = report
        self._has_said_that_it_stays = False
        self._is_handing_over = False
        self._has_said_that_it_leads_on = False

    def begin(self, effect: StoreEffect) -> None:
        match effect:
            case ChangeIsr():
                self._tasks.start(self._change_isr(effect))
            case ReadAssignment():
                self._tasks.start(self._read_assignment())
            case GiveUpPlace():
                self._tasks.start(self._give_up_place(effect))
            case HandOver():
                self._tasks.start(self._hand_over(effect))
            case ForgetHandOvers():
                self._tasks.start(self._context.isr_writer.forget_hand_overs(self._partition, self._context.me))

    async def _change_isr(self, effect: ChangeIsr) -> None:
        ended = await self._context.isr_writer.change(self._partition, effect.change)
        log = logger.info if ended.outcome is ChangeOutcome.DONE else logger.debug
        log(
            "isr_change",
            topic=self._topic_name,
            partition=self._partition.partition,
            isr=[member.node_id for member in effect.change.isr],
            outcome=ended.outcome.value,
        )
        self._report(ended)

    async def _read_assignment(self) -> None:
        self._report(await self._context.isr_writer.read(self._partition))

    async def _give_up_place(self, effect: GiveUpPlace) -> None:
        context = self._context
        heard_ms = context.service.followers_heard(self._partition)
        since_ms = context.clock.monotonic_ms() - context.settings.contact_ms
        is_done = await context.isr_writer.give_up(
            self._partition,
            context.me,
            isr_floor=effect.isr_floor,
            followers={node_id for node_id, at_ms in heard_ms.items() if at_ms > since_ms},
        )
        place = {"topic": self._topic_name, "partition": self._partition.partition}
        if is_done:
            logger.warning("damaged_replica_gave_way", **place)
        elif not self._has_said_that_it_stays:  # it is asked for every second
            logger.warning("damaged_replica_stays", **place, isr_floor=effect.isr_floor)
        self._has_said_that_it_stays = not is_done

    async def _hand_over(self, effect: HandOver) -> None:
        """One at a time: it is asked for again while the store takes its time."""
        if self._is_handing_over:
            return
        self._is_handing_over = True
        try:
            successor = await self._context.isr_writer.hand_over(
                self._partition, self._context.me, isr_floor=effect.isr_floor, heard=effect.heard
            )
        finally:
            self._is_handing_over = False
        place = {"topic": self._topic_name, "partition": self._partition.partition, "heard": effect.heard}
        if successor is not None:
            logger.warning("leadership_handed_over", **place, successor=successor)
        elif not self._has_said_that_it_leads_on:
            logger.warning("leader_cannot_commit", **place, isr_floor=effect.isr_floor)
        self._has_said_that_it_leads_on = successor is None
