"""Leases to keep, and acks and nacks to send: decides what is asked of the server next. Without I/O.

One request at a time: an extension that overtook a nack of the same message would lease the message again, for nobody.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from acklog.client.alarm import TIMER_SLACK_MS
from acklog.client.retry import Backoff
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.errors import AcklogError, DeadlineExceeded
from acklog.messages import Settled

Action = Literal["ack", "nack", "extend"]


@dataclass(frozen=True, slots=True)
class SettlementRequest:
    """One request. `delay_s` and `reason` go with a nack. `since_ms` is when the first receipt of an ack or nack was
    handed in."""

    action: Action
    receipts: list[str]
    delay_s: float | None = None
    since_ms: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SettlementProblem:
    """What was asked for a message did not come about, and is not tried again.

    A stale receipt means that somebody else has, or had, the message: its work may be done twice.
    """

    action: Action
    receipt: str
    error: AcklogError


class _Pending:
    """Receipts of one kind that wait for their request. `since_ms` is when the first of them was handed in."""

    __slots__ = ("receipts", "since_ms")

    def __init__(self) -> None:
        self.receipts: list[str] = []
        self.since_ms = 0.0

    def add(self, receipt: str, now_ms: Callable[[], float]) -> None:
        if not self.receipts:
            self.since_ms = now_ms()
        self.receipts.append(receipt)

    def take(self, count_max: int) -> list[str]:
        taken, self.receipts = self.receipts[:count_max], self.receipts[count_max:]
        return taken

    def put_back(self, receipts: list[str], since_ms: float) -> None:
        self.receipts[:0] = receipts
        self.since_ms = since_ms


class Settlements:
    """Times are in milliseconds. Not for several threads at once."""

    def __init__(self, settings: ConsumerSettings) -> None:
        self._settings = settings
        self._backoff = Backoff(min_ms=settings.backoff_min_ms, max_ms=settings.backoff_max_ms)
        self._half_lease_ms = settings.visibility_s * 500
        self._hold_ms_max = settings.hold_s_max * 1000
        # Receipt to (when to extend, since when held). All leases are equally long, so the order is that of time.
        self._leases: dict[str, tuple[float, float]] = {}
        self._acks = _Pending()
        self._nacks: dict[tuple[float | None, str], _Pending] = {}
        self._problems: list[SettlementProblem] = []
        self._in_request = 0
        self._failures = 0
        self._paused_until_ms = 0.0
        self._is_closing = False

    @property
    def unsettled(self) -> int:
        """Messages that are leased, or whose ack or nack is not confirmed."""
        pending = sum(len(each.receipts) for each in (self._acks, *self._nacks.values()))
        return len(self._leases) + pending + self._in_request

    @property
    def is_settled(self) -> bool:
        """Whether every ack and nack is confirmed or given up."""
        return not self._in_request and not self._acks.receipts and not self._nacks

    def hold(self, receipts: list[str], now_ms: float) -> None:
        """Keep these leased from now on."""
        lease = (now_ms + self._half_lease_ms, now_ms)
        for receipt in receipts:
            self._leases[receipt] = lease

    def ack(self, receipt: str, now_ms: Callable[[], float]) -> bool:
        """Whether the request that takes it should be thought about now: the first and the last that fits."""
        self._leases.pop(receipt, None)
        receipts = self._acks.receipts  # most is acked: as `_Pending.add`, without the call
        if not receipts:
            self._acks.since_ms = now_ms()
        receipts.append(receipt)
        count = len(receipts)
        return count == 1 or count == self._settings.settle_messages_max

    def nack(self, receipt: str, delay_s: float | None, now_ms: Callable[[], float], *, reason: str = "") -> None:
        """Those with one delay and reason share requests."""
        self._leases.pop(receipt, None)
        self._nacks.setdefault((delay_s, reason), _Pending()).add(receipt, now_ms)

    def forget(self, receipts: Iterable[str]) -> None:
        """Their leases are over, or somebody else's business."""
        for receipt in receipts:
            self._leases.pop(receipt, None)

    def let_go(self) -> None:
        """Extend nothing any longer, and let no ack wait for others."""
        self._leases.clear()
        self._is_closing = True

    def next_step(self, now_ms: float) -> SettlementRequest | None:
        """What to ask the server for now; `finished` or `failed` has to follow before the next."""
        if self._in_request or now_ms < self._paused_until_ms:
            return None
        step = self._due_extension(now_ms) or self._due_nack() or self._due_ack(now_ms)
        if step is not None and step.action != "extend":
            self._in_request = len(step.receipts)
        return step

    def next_due_ms(self) -> float | None:
        """When `next_step` has something by itself. None: not before something is handed in."""
        times: list[float] = []
        if self._leases:
            times.append(next(iter(self._leases.values()))[0])
        if self._nacks:
            times.append(0.0)
        if self._acks.receipts:
            times.append(self._ack_due_ms())
        return max(min(times), self._paused_until_ms) if times else None

    def finished(self, step: SettlementRequest, results: list[Settled], now_ms: float, *, chance: float) -> None:
        """The server's answer to a step. `chance` is random, 0 to 1."""
        self._in_request = 0
        self._failures = 0
        again: list[str] = []
        error: AcklogError | None = None
        for result in results:
            if result.error is None:
                continue
            if result.error.retriable:
                again.append(result.receipt)
                error = error or result.error
            elif step.action != "extend" or self._leases.pop(result.receipt, None) is not None:
                self._problems.append(SettlementProblem(step.action, result.receipt, result.error))
        if step.action == "extend":
            refused = set(again)
            self._renew([receipt for receipt in step.receipts if receipt not in refused], now_ms)
        if error is not None:
            self._try_again(step, again, error, now_ms, chance)

    def failed(self, step: SettlementRequest, error: AcklogError, now_ms: float, *, chance: float) -> None:
        """The whole request failed. `chance` is random, 0 to 1."""
        self._in_request = 0
        if error.retriable:
            self._try_again(step, step.receipts, error, now_ms, chance)
            return
        self._problems += [SettlementProblem(step.action, receipt, error) for receipt in step.receipts]
        if step.action == "extend":
            # Not worth another try before the next half of a lease, but worth that.
            self._renew(step.receipts, now_ms)

    def take_problems(self) -> list[SettlementProblem]:
        """What has to be reported since the last time."""
        problems, self._problems = self._problems, []
        return problems

    def abandon(self) -> list[str]:
        """The receipts of all acks and nacks that are not confirmed, taken out."""
        receipts = [receipt for each in (self._acks, *self._nacks.values()) for receipt in each.receipts]
        self._acks = _Pending()
        self._nacks.clear()
        return receipts

    def _due_extension(self, now_ms: float) -> SettlementRequest | None:
        due: list[str] = []
        too_long: list[str] = []
        for receipt, (extend_ms, since_ms) in self._leases.items():
            if extend_ms > now_ms or len(due) == self._settings.settle_messages_max:
                break
            is_too_long = now_ms + 2 * self._half_lease_ms > since_ms + self._hold_ms_max + TIMER_SLACK_MS
            (too_long if is_too_long else due).append(receipt)
        for receipt in too_long:
            del self._leases[receipt]
            detail = f"nobody has settled the message for {self._settings.hold_s_max:g} s: it will come again"
            error = DeadlineExceeded(detail, retriable=False)
            self._problems.append(SettlementProblem("extend", receipt, error))
        return SettlementRequest("extend", due) if due else None

    def _due_nack(self) -> SettlementRequest | None:
        for (delay_s, reason), pending in self._nacks.items():
            receipts = pending.take(self._settings.settle_messages_max)
            if not pending.receipts:
                del self._nacks[delay_s, reason]
            return SettlementRequest("nack", receipts, delay_s, pending.since_ms, reason)
        return None

    def _due_ack(self, now_ms: float) -> SettlementRequest | None:
        if not self._acks.receipts or now_ms < self._ack_due_ms():
            return None
        return SettlementRequest("ack", self._acks.take(self._settings.settle_messages_max), None, self._acks.since_ms)

    def _ack_due_ms(self) -> float:
        is_full = len(self._acks.receipts) >= self._settings.settle_messages_max
        return 0.0 if is_full or self._is_closing else self._acks.since_ms + self._settings.ack_linger_ms

    def _renew(self, receipts: list[str], now_ms: float) -> None:
        """Those that are still held go to the end of the order."""
        for receipt in receipts:
            lease = self._leases.pop(receipt, None)
            if lease is not None:
                self._leases[receipt] = (now_ms + self._half_lease_ms, lease[1])

    def _try_again(
        self, step: SettlementRequest, receipts: list[str], error: AcklogError, now_ms: float, chance: float
    ) -> None:
        self._failures += 1
        self._paused_until_ms = now_ms + self._backoff.delay_ms(self._failures, chance=chance, error=error)
        if step.action == "extend":
            return  # they are the first that are due
        if now_ms - step.since_ms >= self._settings.settle_timeout_ms:
            self._problems += [SettlementProblem(step.action, receipt, error) for receipt in receipts]
            return
        is_ack = step.action == "ack"
        pending = self._acks if is_ack else self._nacks.setdefault((step.delay_s, step.reason), _Pending())
        pending.put_back(receipts, step.since_ms)
