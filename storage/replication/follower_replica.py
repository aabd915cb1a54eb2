"""A partition's follower, for one leader epoch: where it fetches from, what it cuts, what it knows to be committed.

An answer is a fact about (leader epoch, position): "behind offset 40 after epoch 3, epoch 7's leader has this". So it
is right whenever it arrives, as long as the follower is still in that epoch and at that position; an answer that is
late, doubled, or out of order is dropped by comparing these two, wherever it was delayed (rule R3).

The log is cut by epoch, never by high watermark (rule R1), and never below what this replica knows to be committed.
An unclean election takes that knowledge back, once, for logs that have nothing of its epoch or a later one (rule R9).

Sources: KIP-101, KIP-279, KIP-320, KIP-595 (divergence told in the answer to a fetch).
"""

from collections.abc import Collection, Sequence

from storage.replication.assignment import Assignment, ReplicaIdentity
from storage.replication.divergence import position_of, truncation_offset
from storage.replication.follower_events import (
    Answered,
    AppendBatches,
    Contradiction,
    FetchFrom,
    FollowerEffect,
    FollowerEvent,
    HighWatermarkLearned,
    LogChanged,
    LogUnchanged,
    LookForLeader,
    RaiseLogStart,
    RestartLog,
    TimePassed,
    TruncateLog,
)
from storage.replication.leader_events import FetchRefusal
from storage.replication.messages import FetchMode, LogAnswer
from storage.replication.replica_log import ReplicaLog, known_high_watermarks
from storage.replication.replication_settings import ReplicationSettings


class FollowerReplica:
    """`high_watermarks` are the checkpointed ones. The logs must be at rest when it is made. `serial` numbers effects
    on logs, so that completions of an earlier role are not mistaken for its own. `damaged` logs are dropped before
    anything is fetched, whatever is committed in them: this replica is out of the ISR for that. Of `unsettled` logs
    nothing is known to be committed until the leader has said up to where they agree: an unclean election came after
    all that this replica has heard of them (rule R9)."""

    def __init__(
        self,
        me: ReplicaIdentity,
        assignment: Assignment,
        *,
        logs: Sequence[ReplicaLog],
        high_watermarks: Sequence[int],
        settings: ReplicationSettings,
        serial: int = 0,
        damaged: Collection[int] = (),
        unsettled: Collection[int] = (),
    ) -> None:
        if assignment.is_led_by(me) or not assignment.has_leader:
            raise ValueError(f"{me} cannot follow {assignment}")
        self.leader = assignment.leader
        self.leader_epoch = assignment.leader_epoch
        self.mode = FetchMode.LIVE
        self.serial = serial
        self.contradiction: Contradiction | None = None
        self.damaged = set(damaged)
        """What is not dropped yet."""
        self.agreed: set[int] = set()
        """Logs that have agreed with this leader's, up to their end."""
        self._logs = tuple(logs)
        self._high_watermarks = known_high_watermarks(logs, high_watermarks)
        self._unsettled = set(unsettled)
        self._outdated = {number for number in unsettled if self._begins_with_what_is_gone(number)}
        for number in sorted(self.damaged | self._unsettled):
            self._high_watermarks[number] = 0  # of a log that begins anew, nothing is known to be committed
        self._leader_high_watermarks = [0] * len(self._logs)
        self._leader_ends = [0] * len(self._logs)
        self._leader_starts = [0] * len(self._logs)
        self._busy: dict[int, int] = {}  # log → serial of the effect that is under way
        self._settings = settings
        self._retry_at_ms: int | None = None
        self._effects: list[FollowerEffect] = []

    @property
    def high_watermarks(self) -> tuple[int, ...]:
        return tuple(self._high_watermarks)

    @property
    def is_fetching(self) -> bool:
        """Nothing is on its way into the logs, so their ends are positions."""
        is_at_rest = not self._busy and not self.damaged and not self._outdated
        return is_at_rest and self._retry_at_ms is None and self.contradiction is None

    def next_deadline(self) -> int | None:
        return self._retry_at_ms

    def start(self) -> list[FollowerEffect]:
        self._go_on()
        return self._take_effects()

    def step(self, event: FollowerEvent, now_ms: int) -> list[FollowerEffect]:
        match event:
            case Answered():
                self._answered(event, now_ms)
            case LogChanged():
                self._log_changed(event)
            case LogUnchanged():
                if self._busy.get(event.log) == event.serial:
                    del self._busy[event.log]
                    self._retry_at_ms = now_ms + self._settings.retry_ms
            case TimePassed():
                if self._retry_at_ms is not None and self._retry_at_ms <= now_ms:
                    self._retry_at_ms = None
                    self._go_on()
        return self._take_effects()

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        for number, log in enumerate(self._logs):
            assert log.log_start <= log.durable_end <= log.written_end
            assert self._high_watermarks[number] <= log.durable_end, "more is committed than there is"
            assert number not in self.damaged or not self._high_watermarks[number], "a damaged log counts"
            assert number not in self._unsettled or not self._high_watermarks[number], "what was given up counts"
            assert number in self._busy or log.durable_end == log.written_end, "somebody else writes to the log"

    def _take_effects(self) -> list[FollowerEffect]:
        effects, self._effects = self._effects, []
        return effects

    # --- answers -----------------------------------------------------------------------------------------------------

    def _answered(self, event: Answered, now_ms: int) -> None:
        answer = event.answer
        if not self.is_fetching:
            return
        if answer.refusal:
            self._refused(answer.refusal, answer.leader_epoch, now_ms)
            return
        if answer.leader_epoch != self.leader_epoch:
            self._fetch()
            return
        for number, (log, batches) in enumerate(zip(answer.logs, event.batches, strict=True)):
            if log.position == position_of(self._logs[number]):
                self._take(number, log, batches)
        self._choose_mode()
        if answer.is_work:
            self._fetch()

    def _refused(self, refusal: str, leader_epoch: int, now_ms: int) -> None:
        if refusal == FetchRefusal.FENCED_EPOCH.value and leader_epoch <= self.leader_epoch:
            self._fetch()  # said of an earlier epoch's fetch
            return
        self._retry_at_ms = now_ms + self._settings.retry_ms
        self._effects.append(LookForLeader())

    def _take(self, number: int, answer: LogAnswer, batches: bytes | memoryview) -> None:
        log = self._logs[number]
        if answer.restart is not None:
            self._cut(number, answer.restart.offset, log.log_start, RestartLog)
        elif answer.diverged is not None:
            offset = truncation_offset(log.epochs, answer.diverged)
            if number in self._unsettled and offset < log.log_start:
                self._outdated.add(number)
                self._go_on()
                return
            offset = max(offset, log.log_start)
            self._cut(number, offset, offset, TruncateLog)
        else:
            self._unsettled.discard(number)
            self.agreed.add(number)
            self._leader_ends[number] = answer.leader_end
            self._leader_high_watermarks[number] = max(self._leader_high_watermarks[number], answer.high_watermark)
            if batches:
                self._effects.append(AppendBatches(number, self._begin(number), batches))
            self._learn(number)
            log_start = min(answer.log_start, self._high_watermarks[number])
            if log_start > max(log.log_start, self._leader_starts[number]):
                self._leader_starts[number] = log_start
                self._effects.append(RaiseLogStart(number, log_start))

    def _cut(self, number: int, offset: int, kept_end: int, effect: type[TruncateLog] | type[RestartLog]) -> None:
        """`kept_end` is up to where the log stays as it is; a new log that begins at `offset` holds all below."""
        safe = self._high_watermarks[number] <= (kept_end if effect is TruncateLog else offset)
        if safe:
            self._effects.append(effect(number, self._begin(number), offset))
            return
        reason = (
            f"the leader of epoch {self.leader_epoch} has this log end or begin anew at {offset}, "
            f"and it is committed up to {self._high_watermarks[number]}"
        )
        self.contradiction = Contradiction(number, reason)
        self._effects.append(self.contradiction)

    def _begins_with_what_is_gone(self, number: int) -> bool:
        """It is empty, and began at something committed: whether that is in the leader's log, too, nobody can tell."""
        log = self._logs[number]
        return log.log_start == log.durable_end and log.log_start > 0

    def _begin(self, number: int) -> int:
        self.serial += 1
        self._busy[number] = self.serial
        return self.serial

    # --- what was asked for is done ----------------------------------------------------------------------------------

    def _log_changed(self, event: LogChanged) -> None:
        if self._busy.get(event.log) != event.serial:
            return
        del self._busy[event.log]
        self.damaged.discard(event.log)
        self._outdated.discard(event.log)
        self._learn(event.log)
        self._choose_mode()
        self._go_on()

    def _learn(self, number: int) -> None:
        """What the leader has committed is committed here as far as it is durable here; so is what was removed."""
        if number in self._unsettled:
            return
        log = self._logs[number]
        end = max(log.log_start, min(self._leader_high_watermarks[number], log.durable_end))
        if end > self._high_watermarks[number]:
            self._high_watermarks[number] = end
            self._effects.append(HighWatermarkLearned(number, end))

    def _choose_mode(self) -> None:
        lags = [end - log.durable_end for end, log in zip(self._leader_ends, self._logs, strict=True)]
        if max(lags) > self._settings.live_lag_records_max:
            self.mode = FetchMode.CATCH_UP
        elif max(lags) <= 0:
            self.mode = FetchMode.LIVE

    def _go_on(self) -> None:
        """Ask for what is missing, or first drop what is damaged, or lies behind what a leader of an unclean election
        does not have: until then no position is told."""
        for number in sorted((self.damaged | self._outdated) - self._busy.keys()):
            if self._retry_at_ms is None:
                self._effects.append(RestartLog(number, self._begin(number), 0))
        self._fetch()

    def _fetch(self) -> None:
        if self.is_fetching:
            positions = tuple(position_of(log) for log in self._logs)
            self._effects.append(FetchFrom(self.leader, self.leader_epoch, positions))
