"""One replica of a partition through its roles: none, follower, leader, follower again.

Between two roles the host lets the logs come to rest: what the role before had on its way into them is written or
failed, and nothing is begun. So a new leader knows its log end, and a new follower its position. Epochs only rise;
what is said in an earlier one changes nothing (rules R3, R10).
"""

from collections.abc import Sequence

from storage.replication import follower_events, leader_events
from storage.replication.assignment import NO_EPOCH, Assignment, ReplicaIdentity
from storage.replication.follower_events import FollowerEvent
from storage.replication.follower_replica import FollowerReplica
from storage.replication.leader_events import (
    AckAwaited,
    AcksUnknown,
    AssignmentSeen,
    CoordinationChanged,
    FetchRefusal,
    FetchVerdict,
    FollowerFetched,
    LogsMoved,
    NodesImpaired,
    TopicChanged,
)
from storage.replication.leader_replica import LeaderReplica
from storage.replication.repair import Repair
from storage.replication.replica_events import (
    ComeToRest,
    GiveUpPlace,
    LogDamaged,
    LogsAtRest,
    ReplicaEffect,
    ReplicaEvent,
    Role,
    RoleTaken,
)
from storage.replication.replica_log import ReplicaLog
from storage.replication.replication_settings import ReplicationSettings, TopicReplication

_FOLLOWER_EVENTS = (
    follower_events.Answered,
    follower_events.LogChanged,
    follower_events.LogUnchanged,
    follower_events.TimePassed,
)


class PartitionReplica:
    """`high_watermarks` are the checkpointed ones, one per log."""

    def __init__(
        self,
        me: ReplicaIdentity,
        *,
        logs: Sequence[ReplicaLog],
        high_watermarks: Sequence[int],
        topic: TopicReplication,
        settings: ReplicationSettings,
    ) -> None:
        self.leader_epoch = NO_EPOCH
        self.leader: LeaderReplica | None = None
        self.follower: FollowerReplica | None = None
        self._me = me
        self._logs = tuple(logs)
        self._resting_high_watermarks = tuple(high_watermarks)
        self._topic = topic
        self._settings = settings
        self._next: Assignment | None = None
        self._revision = -1  # of the assignment that the role, or the one to come, was taken by
        self._rest_serial = 0
        self._log_serial = 0
        self._agreed_epochs = [NO_EPOCH] * len(self._logs)  # the last leader epoch that each log agreed with
        self._is_coordinated = True
        self._impaired = NodesImpaired(frozenset())
        self._repair = Repair(me, retry_ms=settings.repair_retry_ms)
        self._assignment: Assignment | None = None  # the last one seen of this epoch

    @property
    def damaged(self) -> frozenset[int]:
        """Logs that cannot be read everywhere, and are not replaced yet."""
        return frozenset(self._repair.damaged)

    @property
    def role(self) -> Role:
        if self.leader is not None:
            return Role.LEADER
        return Role.NONE if self.follower is None else Role.FOLLOWER

    @property
    def high_watermarks(self) -> tuple[int, ...]:
        role = self.leader or self.follower
        return self._resting_high_watermarks if role is None else role.high_watermarks

    def next_deadline(self) -> int | None:
        role = self.leader or self.follower
        if role is None:
            return None
        deadlines = (role.next_deadline(), self._repair.next_deadline())
        return min((each for each in deadlines if each is not None), default=None)

    def step(self, event: ReplicaEvent, now_ms: int) -> list[ReplicaEffect]:
        """Events of a role that this replica does not have (any more) change nothing; fetches are always answered, and
        who waits for an append always hears of it."""
        if isinstance(event, LogsMoved):  # one of every append, so it goes first
            return [] if self.leader is None else [*self.leader.step(event, now_ms)]
        match event:
            case AssignmentSeen():
                return self._seen(event, now_ms)
            case LogsAtRest():
                return self._at_rest(event.serial, now_ms)
            case LogDamaged():
                return self._log_damaged(event.log, now_ms)
            case TopicChanged():
                self._topic = event.topic
            case CoordinationChanged():
                self._is_coordinated = event.is_reachable
            case NodesImpaired():
                self._impaired = event
            case FollowerFetched() if self.leader is None:
                return [self._not_leading(event)]
            case AckAwaited() if self.leader is None:
                return [AcksUnknown((event.token,))]
        if isinstance(event, _FOLLOWER_EVENTS):
            return self._step_follower(event, now_ms)
        return [] if self.leader is None else [*self.leader.step(event, now_ms)]

    def time_passed(self, now_ms: int) -> list[ReplicaEffect]:
        """A deadline is due."""
        effects: list[ReplicaEffect] = []
        if self._repair.is_to_be_asked(now_ms):
            effects += self._ask_to_give_up(now_ms)
        if self.leader is not None:
            return [*effects, *self.leader.step(leader_events.TimePassed(), now_ms)]
        if self.follower is not None:
            effects += self.follower.step(follower_events.TimePassed(), now_ms)
        return effects

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert self.leader is None or self.follower is None
        role = self.leader or self.follower
        if role is not None:
            assert self._next is None, "a role goes on although the logs are to come to rest"
            assert role.leader_epoch == self.leader_epoch
            role.check_invariants()

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _seen(self, event: AssignmentSeen, now_ms: int) -> list[ReplicaEffect]:
        assignment = event.assignment
        if assignment.leader_epoch < self.leader_epoch:
            return []
        if self._assignment is None:
            self._repair.first_seen(assignment)
        if self._assignment is None or assignment.revision >= self._assignment.revision:
            self._assignment = assignment
        if assignment.leader_epoch == self.leader_epoch:
            return self._seen_again(event, now_ms)
        return self._change_role(assignment)

    def _seen_again(self, event: AssignmentSeen, now_ms: int) -> list[ReplicaEffect]:
        """Within an epoch a replica may be added or taken away; who leads it never changes."""
        assignment = event.assignment
        if self.leader is not None:
            effects: list[ReplicaEffect] = [*self.leader.step(event, now_ms)]
            if self._repair.next_deadline() is None:  # nobody else held it until now
                effects += self._ask_to_give_up(now_ms)
            return effects
        if assignment.revision <= self._revision:
            return []
        self._revision = assignment.revision
        if self._next is not None:
            self._next = assignment
            return []
        return [] if self._role_in(assignment) is self.role else self._change_role(assignment)

    def _change_role(self, assignment: Assignment) -> list[ReplicaEffect]:
        effects: list[ReplicaEffect] = []
        self._resting_high_watermarks = self.high_watermarks
        if self.leader is not None:
            effects += self.leader.step_down()
            self._agreed_epochs = [self.leader_epoch] * len(self._logs)
        if self.follower is not None:
            self._log_serial = self.follower.serial
            for number in self.follower.agreed:
                self._agreed_epochs[number] = self.leader_epoch
        self.leader = self.follower = None
        self.leader_epoch = assignment.leader_epoch
        self._revision = assignment.revision
        self._next = assignment
        self._rest_serial += 1
        return [*effects, ComeToRest(self._rest_serial)]

    def _at_rest(self, serial: int, now_ms: int) -> list[ReplicaEffect]:
        assignment = self._next
        if assignment is None or serial != self._rest_serial:
            return []
        self._next = None
        match self._role_in(assignment):
            case Role.LEADER:
                return self._lead(assignment, now_ms)
            case Role.FOLLOWER:
                return self._follow(assignment, now_ms)
            case Role.NONE:
                return [RoleTaken(Role.NONE, self.leader_epoch)]

    def _role_in(self, assignment: Assignment) -> Role:
        """A leadership of this node's earlier life is nobody's: it ends with the next epoch."""
        if assignment.is_led_by(self._me):
            return Role.LEADER
        is_followed = assignment.has_leader and assignment.leader != self._me.node_id
        return Role.FOLLOWER if is_followed and self._me.node_id in assignment.replicas else Role.NONE

    def _lead(self, assignment: Assignment, now_ms: int) -> list[ReplicaEffect]:
        self.leader = LeaderReplica(
            self._me,
            assignment,
            logs=self._logs,
            high_watermarks=self._resting_high_watermarks,
            topic=self._topic,
            settings=self._settings,
            now_ms=now_ms,
        )
        effects: list[ReplicaEffect] = [RoleTaken(Role.LEADER, self.leader_epoch), *self.leader.start()]
        if not self._is_coordinated:
            effects += self.leader.step(CoordinationChanged(False), now_ms)
        if self._impaired.nodes:
            effects += self.leader.step(self._impaired, now_ms)
        return [*effects, *self._ask_to_give_up(now_ms)]

    def _follow(self, assignment: Assignment, now_ms: int) -> list[ReplicaEffect]:
        begins_anew = self._repair.may_begin(assignment)
        self.follower = FollowerReplica(
            self._me,
            assignment,
            logs=self._logs,
            high_watermarks=self._resting_high_watermarks,
            settings=self._settings,
            serial=self._log_serial,
            damaged=self._repair.damaged if begins_anew else (),
            unsettled=self._unsettled(assignment.unclean_epoch),
        )
        effects: list[ReplicaEffect] = [RoleTaken(Role.FOLLOWER, self.leader_epoch), *self.follower.start()]
        if begins_anew:
            self._repair.stop_asking()
            return effects
        return [*effects, *self._ask_to_give_up(now_ms)]

    def _unsettled(self, unclean_epoch: int) -> list[int]:
        """Logs of which nothing is known that is of the last unclean election's epoch or a later one."""
        return [
            number
            for number, log in enumerate(self._logs)
            if max(log.epochs.last_epoch, self._agreed_epochs[number]) < unclean_epoch
        ]

    # --- damaged logs ------------------------------------------------------------------------------------------------

    def _log_damaged(self, log: int, now_ms: int) -> list[ReplicaEffect]:
        if not self._repair.found(log, leader_epoch=self.leader_epoch) or self.role is Role.NONE:
            return []
        return self._ask_to_give_up(now_ms)

    def _ask_to_give_up(self, now_ms: int) -> list[ReplicaEffect]:
        """Writes go on meanwhile: the ISR keeps its minimum, and a damaged member counts until others are enough."""
        assignment = self._assignment
        if not self._repair.damaged or assignment is None or len(assignment.replicas) < 2:
            self._repair.stop_asking()
            return []
        self._repair.ask(now_ms)
        if not self._is_coordinated:
            return []
        return [GiveUpPlace(max(1, min(self._topic.min_insync_replicas, len(assignment.replicas) - 1)))]

    def _step_follower(self, event: FollowerEvent, now_ms: int) -> list[ReplicaEffect]:
        if self.follower is None:
            return []
        if not self.follower.damaged:
            return [*self.follower.step(event, now_ms)]
        before = set(self.follower.damaged)
        effects: list[ReplicaEffect] = [*self.follower.step(event, now_ms)]
        for log in sorted(before - self.follower.damaged):
            self._repair.done(log)
        return effects

    def _not_leading(self, event: FollowerFetched) -> FetchVerdict:
        if event.leader_epoch < self.leader_epoch:
            return FetchVerdict(event.follower, self.leader_epoch, FetchRefusal.FENCED_EPOCH)
        if event.leader_epoch > self.leader_epoch:
            return FetchVerdict(event.follower, self.leader_epoch, FetchRefusal.UNKNOWN_EPOCH)
        return FetchVerdict(event.follower, self.leader_epoch, FetchRefusal.NOT_LEADER)
