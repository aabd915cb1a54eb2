"""A partition's leader, for one leader epoch: what is committed, who is in sync, when an append is acknowledged.

A partition's logs (messages, delivery records) share one ISR and are compared, counted and committed each for itself: a
high watermark per log, the least durable end over the maximal ISR. A follower joins when it has both logs, leaves when
it lacks something of either.

Why nothing committed is lost: a record below the high watermark is durable on everybody in the maximal ISR, which the
true ISR is a part of; the next leader is elected from the true ISR; and a replica that follows it cuts only what the
new leader does not have.

Sources: KIP-101, KIP-320 (fencing), KIP-497, KIP-903 (ISR changes), KIP-966 (nothing is committed below the minimum of
in-sync replicas), and the specifications of Kafka's replication in TLA+ by J. Gustafson and J. Vanlightly.
"""

from collections.abc import Sequence
from itertools import chain

from storage.replication.acks import ACKS_ALL, WaitingAcks
from storage.replication.assignment import Assignment, ReplicaIdentity
from storage.replication.certainty import Certainty
from storage.replication.contact import Contact
from storage.replication.fetch_admission import fetch_refusal, judged
from storage.replication.follower_progress import UNKNOWN, FollowerProgress
from storage.replication.followers import Followers, next_late_ms, without_late, without_silent
from storage.replication.isr import ChangeOutcome, InSyncReplicas
from storage.replication.joining import Joining, joining
from storage.replication.leader_events import (
    AckAwaited,
    AcksReached,
    AcksUnknown,
    AskWhoIsHeard,
    AssignmentSeen,
    AssignmentUnreadable,
    ChangeIsr,
    CoordinationChanged,
    FetchRefusal,
    FetchVerdict,
    FollowerFetched,
    FollowersHeard,
    HighWatermarkAdvanced,
    IsrChangeEnded,
    LeaderEffect,
    LeaderEvent,
    LogsMoved,
    NodesImpaired,
    ReadAssignment,
    Refusal,
    Service,
    ServiceChanged,
    TimePassed,
    TopicChanged,
)
from storage.replication.replica_log import ReplicaLog, known_high_watermarks
from storage.replication.replication_settings import ReplicationSettings, TopicReplication
from storage.replication.retry_pause import RetryPause


class LeaderReplica:
    """`high_watermarks` are the checkpointed ones. The logs must be at rest when it is made: nothing of an earlier role
    may still be on its way into them."""

    def __init__(
        self,
        me: ReplicaIdentity,
        assignment: Assignment,
        *,
        logs: Sequence[ReplicaLog],
        high_watermarks: Sequence[int],
        topic: TopicReplication,
        settings: ReplicationSettings,
        now_ms: int,
    ) -> None:
        if not assignment.is_led_by(me):
            raise ValueError(f"{me} does not lead {assignment}")
        self.leader_epoch = assignment.leader_epoch
        self.service = Service.STARTING
        self.isr = InSyncReplicas(me, assignment)
        self._me = me
        self._logs = tuple(logs)
        self._high_watermarks = known_high_watermarks(logs, high_watermarks)
        self._start_ends = tuple(log.written_end for log in logs)
        self._topic = topic
        self._settings = settings
        self._followers = Followers(logs=len(self._logs))
        self._waiting = tuple(WaitingAcks() for _ in logs)
        self._late = 0  # members of the committed ISR that are late, and have not left it yet or must not
        self._contact = Contact(me.node_id, assignment, settings, now_ms)
        self._is_coordinated = True
        self._retry = RetryPause(settings.retry_ms)
        self._effects: list[LeaderEffect] = []
        self._members: dict[int, FollowerProgress] = {}  # of the maximal ISR, those that are heard
        self._is_somebody_missing = False
        self._joining = Joining()
        self._looked_ms = now_ms
        self._set_replicas(assignment, now_ms)
        self._reconsider(now_ms)

    # --- asking ----------------------------------------------------------------------------------------------------

    @property
    def high_watermarks(self) -> tuple[int, ...]:
        return tuple(self._high_watermarks)

    @property
    def waiting_acks(self) -> int:
        return sum(map(len, self._waiting))

    def refusal(self, acks: int) -> Refusal | None:
        """Why an append with `acks` is not to be written now. None: it is."""
        if self.service is not Service.SERVING:
            return Refusal.NOT_SERVING
        if acks == ACKS_ALL and self.isr.minimal_size - self._late < self._topic.min_insync_replicas:
            return Refusal.NOT_ENOUGH_REPLICAS
        if acks > 0 and self.waiting_acks >= self._settings.waiting_acks_max:
            return Refusal.TOO_MANY_WAITING  # who asks for all waits for the high watermark, and not for a number
        return None

    @property
    def certainty(self) -> Certainty:
        return Certainty(self._me.node_id, self.isr, self._followers, self._topic.min_insync_replicas)

    def next_deadline(self) -> int | None:
        """When TimePassed is due."""
        if self.service is Service.STEPPED_DOWN:
            return None
        members, lag_ms = self._followers.members(self.isr.committed), self._topic.max_replica_lag_ms
        deadlines = [self._retry.until_ms, self._joining.ask_from_ms]
        if self._is_coordinated:
            deadlines.append(self._contact.next_deadline(members, lag_ms, after_ms=self._looked_ms))
        else:
            deadlines.append(next_late_ms(members, lag_ms, after_ms=self._looked_ms))
            if self.service is Service.SERVING and self._topic.min_insync_replicas > 1:
                deadlines.append(self._heard_ms() + self._settings.contact_ms)
        return min((each for each in deadlines if each is not None), default=None)

    # --- stepping --------------------------------------------------------------------------------------------------

    def start(self) -> list[LeaderEffect]:
        """The effects of having become leader."""
        return self._take_effects()

    def step(self, event: LeaderEvent, now_ms: int) -> list[LeaderEffect]:
        """One that has stepped down refuses fetches, knows nothing of appends, and does nothing else."""
        if self.service is Service.STEPPED_DOWN:
            return self._after_the_end(event)
        if isinstance(event, LogsMoved):
            if self._followers:
                self._followers.leader_grew(self._written_ends(), now_ms)
            self._go_on(now_ms)
        elif isinstance(event, AckAwaited):
            self._waiting[event.log].add(event.acks, event.next_offset, event.token)
            self._complete_acks(event.log)
        elif isinstance(event, FollowerFetched) and self._fetched(event, now_ms):
            self._go_on(now_ms)
        else:
            self._note(event, now_ms)
            is_told = isinstance(event, FollowersHeard)
            self._reconsider(now_ms, is_told=is_told)
            if (self._joining.must_ask or self._contact.must_ask) and not is_told:
                self._effects.append(AskWhoIsHeard())
        return self._take_effects()

    def _note(self, event: LeaderEvent, now_ms: int) -> None:
        match event:
            case FollowersHeard():
                self._followers.heard(event.at_ms)
            case IsrChangeEnded():
                self._isr_change_ended(event, now_ms)
            case AssignmentSeen():
                self._seen(event.assignment, now_ms)
            case AssignmentUnreadable():
                self._retry.wait(now_ms)
            case CoordinationChanged():
                self._is_coordinated = event.is_reachable
            case TopicChanged():
                self._topic = event.topic
            case NodesImpaired():
                self._followers.impaired = event.nodes
            case TimePassed():
                if self._retry.is_over(now_ms) and self.isr.needs_reading:
                    self._effects.append(ReadAssignment())

    def _after_the_end(self, event: LeaderEvent) -> list[LeaderEffect]:
        match event:
            case FollowerFetched():
                return [FetchVerdict(event.follower, self.leader_epoch, self._fetch_refusal(event))]
            case AckAwaited():
                return [AcksUnknown((event.token,))]
        return []

    def _go_on(self, now_ms: int) -> None:
        """Who is in sync is as it was."""
        self._advance()
        if self.service is not Service.SERVING:
            self._serve(now_ms)

    def _reconsider(self, now_ms: int, *, is_told: bool = False) -> None:
        """`is_told`: who is heard is known as of now."""
        if self.service is Service.STEPPED_DOWN:
            return
        self._count_members()
        self._advance()
        self._look(now_ms, is_told=is_told)
        self._maintain_isr(now_ms)
        self._count_members()
        self._serve(now_ms)

    def step_down(self) -> list[LeaderEffect]:
        """Somebody else leads, or will. What is not acknowledged by now is nobody's to answer for."""
        self._step_down()
        return self._take_effects()

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        self.isr.check_invariants()
        assert any(member.node_id == self._me.node_id for member in self.isr.committed), "the leader is not in its ISR"
        for log, high_watermark in zip(self._logs, self._high_watermarks, strict=True):
            assert log.log_start <= high_watermark <= log.durable_end <= log.written_end
        assert self.service is not Service.STEPPED_DOWN or not self.waiting_acks
        for member in self.isr.maximal:
            if member.node_id != self._me.node_id and self.service is not Service.STEPPED_DOWN:
                assert self._members.get(member.node_id) is self._followers.of(member), "somebody else is counted"
        for number, waiting in enumerate(self._waiting):
            assert not waiting.has_reached(ACKS_ALL, self._high_watermarks[number]), "an append was left waiting"

    def _step_down(self) -> None:
        if self.service is Service.STEPPED_DOWN:
            return
        self._set_service(Service.STEPPED_DOWN)
        if self.waiting_acks:
            self._effects.append(AcksUnknown(tuple(chain.from_iterable(each.take_all() for each in self._waiting))))

    def _set_replicas(self, assignment: Assignment, now_ms: int) -> None:
        self._followers.set_nodes((each for each in assignment.replicas if each != self._me.node_id), now_ms)

    def _take_effects(self) -> list[LeaderEffect]:
        effects, self._effects = self._effects, []
        return effects

    # --- fetches ---------------------------------------------------------------------------------------------------

    def _fetched(self, event: FollowerFetched, now_ms: int) -> bool:
        """Whether it came from a member of the ISR that keeps up, as most do."""
        refusal = self._fetch_refusal(event)
        if refusal is not None:
            self._effects.append(FetchVerdict(event.follower, self.leader_epoch, refusal))
            if refusal is FetchRefusal.UNKNOWN_EPOCH:
                # The asker was told of a later epoch by the coordination store, so this one is over (rule R3).
                self._step_down()
            return refusal is not FetchRefusal.UNKNOWN_EPOCH
        progress = self._followers.life(event.follower, now_ms)
        if event.follower.node_id not in self._members:
            self._retry.begin_anew(now_ms)  # it wants to join, and lives
        verdicts = judged(self._logs, event.positions)
        matched = [UNKNOWN if verdict.parting else verdict.position.offset for verdict in verdicts]
        progress.fetched(matched, ends=self._written_ends(), now_ms=now_ms)
        named = verdicts[: len(event.positions)]  # it is answered for the logs that it knows
        self._effects.append(FetchVerdict(event.follower, self.leader_epoch, None, named))
        return not self._late and self._members.get(event.follower.node_id) is progress

    def _fetch_refusal(self, event: FollowerFetched) -> FetchRefusal | None:
        return fetch_refusal(event, self._followers, leader_epoch=self.leader_epoch, service=self.service)

    def _written_ends(self) -> tuple[int, ...]:
        return tuple(log.written_end for log in self._logs)

    # --- the high watermark and acknowledgements ---------------------------------------------------------------------

    def _advance(self) -> None:
        is_enough = self.isr.minimal_size >= self._topic.min_insync_replicas  # rule R5
        for number in range(len(self._logs)):
            end = self._committed_end(number) if is_enough else UNKNOWN
            if end > self._high_watermarks[number]:
                self._high_watermarks[number] = end
                self._effects.append(HighWatermarkAdvanced(number, end))
            if self._waiting[number]:
                self._complete_acks(number)

    def _committed_end(self, number: int) -> int:
        """The least durable end over the maximal ISR; UNKNOWN while somebody in it has not been heard."""
        if self._is_somebody_missing:
            return UNKNOWN
        end = self._logs[number].durable_end
        for progress in self._members.values():
            end = min(end, progress.matched[number])
        return end

    def _count_members(self) -> None:
        others = [member for member in self.isr.maximal if member.node_id != self._me.node_id]
        heard = [(member.node_id, self._followers.of(member)) for member in others]
        self._members = {node_id: progress for node_id, progress in heard if progress is not None}
        self._is_somebody_missing = len(self._members) < len(others)

    def _complete_acks(self, number: int) -> None:
        waiting = self._waiting[number]
        for level in waiting.levels:
            end = self._high_watermarks[number] if level == ACKS_ALL else self._end_on(level, number)
            tokens = waiting.take(level, end)
            if tokens:
                self._effects.append(AcksReached(tuple(tokens)))

    def _end_on(self, replicas: int, number: int) -> int:
        """Up to where so many replicas hold the log durably."""
        own = self._logs[number].durable_end
        return min(own, self._followers.durable_on_any(replicas - 1, number)) if replicas > 1 else own

    # --- who is in sync ----------------------------------------------------------------------------------------------

    def _look(self, now_ms: int, *, is_told: bool) -> None:
        """Who of the ISR keeps up; and whether another leader might fare better (rule R36)."""
        self._looked_ms = now_ms
        if not self._is_coordinated:
            self._contact.look_away()
            return
        members, floor = self._followers.members(self.isr.committed), self._topic.min_insync_replicas
        is_waiting = self._written_ends() != self.high_watermarks
        self._effects += self._contact.look(
            self._followers, members, is_waiting=is_waiting, is_told=is_told, floor=floor, now_ms=now_ms
        )

    def _maintain_isr(self, now_ms: int) -> None:
        """Propose what is due; never while the coordination store is away, and one change at a time (rule R15)."""
        lag_ms, present = self._topic.max_replica_lag_ms, self._followers.members(self.isr.committed)
        late = [progress for progress in present if progress.is_late(lag_ms, now_ms)]
        self._late = len(late)
        self._joining = Joining()
        if not self._is_coordinated or not self.isr.is_settled or self._retry.until_ms is not None:
            return
        known = self._followers.known_members(self.isr.committed, but=self._me.node_id)
        kept = without_late(known, late, least=self._topic.min_insync_replicas)
        vital = [each for each in self._contact.vital if each not in late]
        kept = without_silent(kept, self._contact.silent, vital, least=self._topic.min_insync_replicas)
        self._followers.note_put_out((each for each in known if each not in kept), now_ms)
        if kept != self.isr.committed:
            self._effects.append(ChangeIsr(self.isr.propose(kept)))
            return
        candidates = [progress for progress in self._followers if self._may_join(progress, now_ms)]
        self._joining = joining(candidates, contact_ms=self._settings.contact_ms, now_ms=now_ms)
        if self._joining.members:
            grown = self.isr.propose((*kept, *self._joining.members), self._joining.identities)
            self._effects.append(ChangeIsr(grown))

    def _may_join(self, progress: FollowerProgress, now_ms: int) -> bool:
        """It has all that is committed and all that this leader found at its election, and kept up when last heard."""
        if self.isr.has(progress.identity.node_id) or self._followers.is_impaired(progress):
            return False
        if progress.is_late(self._topic.max_replica_lag_ms, now_ms):
            return False
        return progress.is_at(self._start_ends) and progress.is_at(self._high_watermarks)

    def _isr_change_ended(self, event: IsrChangeEnded, now_ms: int) -> None:
        is_awaited = self.isr.ended(event.serial, event.outcome, event.revision)
        if is_awaited and event.outcome is ChangeOutcome.DONE:
            self._retry.succeeded()
            self._contact.isr_changed((member.node_id for member in self.isr.committed), now_ms)
        elif is_awaited and self.isr.needs_reading:
            self._retry.wait(now_ms)
        elif is_awaited:  # who fetches, and is not registered (yet), is refused each time
            self._retry.failed(now_ms)

    def _seen(self, assignment: Assignment, now_ms: int) -> None:
        is_newer = assignment.revision > self.isr.revision
        if assignment.leader_epoch > self.leader_epoch:
            self._step_down()
        elif assignment.leader_epoch == self.leader_epoch:
            if is_newer and not self._is_mine(assignment):
                self._step_down()  # the controller has taken the leadership away, and has nobody to give it to
                return
            if is_newer:
                self._set_replicas(assignment, now_ms)
                self._contact.seen(assignment, now_ms)
            before = self.isr.committed
            change = self.isr.seen(assignment)
            self._followers.note_put_out([each for each in before if not self.isr.has(each.node_id)], now_ms)
            if change is not None:
                self._effects.append(ChangeIsr(change))

    def _is_mine(self, assignment: Assignment) -> bool:
        return assignment.is_led_by(self._me) and any(each.node_id == self._me.node_id for each in assignment.isr)

    # --- service -----------------------------------------------------------------------------------------------------

    def _heard_ms(self) -> int:
        """When enough of the ISR were heard to make the minimum with this leader."""
        return self._followers.heard_by(self._topic.min_insync_replicas - 1, self.isr.committed)

    def _serve(self, now_ms: int) -> None:
        if self.service is Service.STARTING:
            reached = zip(self._high_watermarks, self._start_ends, strict=True)
            if any(high < start for high, start in reached):
                return
        may_serve = self._is_coordinated or now_ms < self._heard_ms() + self._settings.contact_ms
        self._set_service(Service.SERVING if may_serve else Service.ISOLATED)

    def _set_service(self, service: Service) -> None:
        if service is not self.service:
            self.service = service
            self._effects.append(ServiceChanged(service))
