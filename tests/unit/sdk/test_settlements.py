"""The lease keeper: what is asked of the server, and when."""

from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.settlements import SettlementRequest, Settlements
from acklog.errors import DeadlineExceeded, Overloaded, ReceiptStale, Unauthenticated
from acklog.messages import Settled


def made(**options: float) -> Settlements:
    return Settlements(ConsumerSettings(**options))  # type: ignore[arg-type]


def answered(settlements: Settlements, step: SettlementRequest | None, now_ms: float) -> SettlementRequest:
    assert step is not None
    settlements.finished(step, [Settled(receipt, "done") for receipt in step.receipts], now_ms, chance=0)
    return step


def test_leases_are_extended_when_half_of_them_has_passed_and_together() -> None:
    settlements = made(visibility_s=10)
    settlements.hold(["a", "b"], 0)
    settlements.hold(["c"], 1000)
    assert settlements.next_step(4999) is None
    assert settlements.next_due_ms() == 5000
    step = answered(settlements, settlements.next_step(6000), 6000)
    assert step == SettlementRequest("extend", ["a", "b", "c"])
    assert settlements.next_due_ms() == 11_000


def test_what_is_settled_is_not_extended() -> None:
    settlements = made(visibility_s=10)
    settlements.hold(["a", "b", "c"], 0)
    settlements.ack("a", lambda: 0)
    settlements.nack("b", 5, lambda: 0)
    assert answered(settlements, settlements.next_step(0), 0) == SettlementRequest("nack", ["b"], 5, 0)
    assert answered(settlements, settlements.next_step(5000), 5000).receipts == ["c"]
    assert answered(settlements, settlements.next_step(5000), 5000).receipts == ["a"]


def test_nacks_share_a_request_where_delay_and_reason_are_the_same() -> None:
    settlements = made()
    for receipt, reason in (("a", "slow"), ("b", ""), ("c", "slow")):
        settlements.nack(receipt, 5, lambda: 0, reason=reason)
    step = settlements.next_step(0)
    assert step == SettlementRequest("nack", ["a", "c"], 5, 0, "slow")
    settlements.finished(step, [Settled("a", error=Overloaded("busy")), Settled("c", "returned")], 0, chance=0.0)
    again = answered(settlements, settlements.next_step(60_000), 60_000)
    assert again == SettlementRequest("nack", ["b"], 5, 0)
    assert answered(settlements, settlements.next_step(60_000), 60_000) == SettlementRequest(
        "nack", ["a"], 5, 0, "slow"
    )


def test_acks_wait_for_others_but_not_for_long() -> None:
    settlements = made(ack_linger_ms=20, settle_messages_max=3)
    assert settlements.ack("a", lambda: 100)
    assert not settlements.ack("b", lambda: 110)
    assert settlements.next_step(119) is None
    assert settlements.next_due_ms() == 120
    assert settlements.ack("c", lambda: 110)
    settlements.ack("d", lambda: 110)
    assert answered(settlements, settlements.next_step(110), 110).receipts == ["a", "b", "c"]
    assert answered(settlements, settlements.next_step(130), 130).receipts == ["d"]
    assert settlements.is_settled


def test_one_request_is_on_its_way_at_a_time() -> None:
    settlements = made(ack_linger_ms=0)
    settlements.ack("a", lambda: 0)
    step = settlements.next_step(0)
    settlements.nack("b", None, lambda: 0)
    assert settlements.next_step(1) is None
    assert not settlements.is_settled
    answered(settlements, step, 1)
    assert settlements.next_step(1) == SettlementRequest("nack", ["b"], None, 0)


def test_a_failed_request_is_tried_again_after_a_pause_with_its_receipts_first() -> None:
    settlements = made(ack_linger_ms=0, backoff_min_ms=100)
    settlements.ack("a", lambda: 0)
    step = settlements.next_step(0)
    assert step is not None
    settlements.ack("b", lambda: 0)
    settlements.failed(step, Overloaded("busy"), 10, chance=1)
    assert settlements.next_step(109) is None
    assert settlements.next_due_ms() == 110
    assert answered(settlements, settlements.next_step(110), 110).receipts == ["a", "b"]
    assert settlements.take_problems() == []


def test_what_fails_too_long_is_reported_and_dropped() -> None:
    settlements = made(ack_linger_ms=0, settle_timeout_ms=1000)
    settlements.ack("a", lambda: 0)
    step = settlements.next_step(0)
    assert step is not None
    settlements.failed(step, Overloaded("busy"), 1000, chance=0)
    assert [(each.action, each.receipt) for each in settlements.take_problems()] == [("ack", "a")]
    assert settlements.is_settled


def test_a_lease_that_is_lost_is_reported_once_unless_it_was_settled_meanwhile() -> None:
    settlements = made(visibility_s=10)
    settlements.hold(["a", "b"], 0)
    step = settlements.next_step(5000)
    assert step is not None
    settlements.ack("a", lambda: 5001)
    stale = ReceiptStale("leased again")
    settlements.finished(step, [Settled("a", None, stale), Settled("b", None, stale)], 5002, chance=0)
    assert [each.receipt for each in settlements.take_problems()] == ["b"]
    settlements.ack("b", lambda: 6000)
    assert settlements.unsettled == 2


def test_a_request_that_is_refused_for_good_is_reported() -> None:
    settlements = made(visibility_s=10, ack_linger_ms=0)
    settlements.hold(["a"], 0)
    step = settlements.next_step(5000)
    assert step is not None
    settlements.failed(step, Unauthenticated("no"), 5000, chance=0)
    assert len(settlements.take_problems()) == 1
    assert settlements.next_due_ms() == 10_000


def test_a_message_is_held_only_so_long() -> None:
    settlements = made(visibility_s=10, hold_s_max=20)
    settlements.hold(["a"], 0)
    for now_ms in (5000, 10_000):
        answered(settlements, settlements.next_step(now_ms), now_ms)
    assert settlements.next_step(15_000) is None
    [problem] = settlements.take_problems()
    assert isinstance(problem.error, DeadlineExceeded)
    assert not problem.error.retriable
    assert settlements.unsettled == 0


def test_at_the_end_nothing_waits_and_what_is_left_is_named() -> None:
    settlements = made(ack_linger_ms=60_000)
    settlements.hold(["held"], 0)
    settlements.ack("a", lambda: 0)
    settlements.let_go()
    step = settlements.next_step(0)
    assert step is not None
    assert step.receipts == ["a"]
    settlements.failed(step, Overloaded("busy"), 0, chance=0)
    assert settlements.abandon() == ["a"]
    assert settlements.is_settled


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["hold", "ack", "nack", "step", "fail", "time"]), st.integers(0, 9)), max_size=80
    )
)
def test_every_decision_reaches_the_server_once_and_no_lease_runs_out(steps: list[tuple[str, int]]) -> None:
    keeper = made(visibility_s=10, ack_linger_ms=50, settle_messages_max=4, backoff_min_ms=1, backoff_max_ms=2)
    now_ms = 0.0
    held: dict[str, float] = {}
    decided: dict[str, str] = {}
    done: dict[str, str] = {}
    serial = 0

    def answer_one(step: SettlementRequest) -> None:
        for receipt in step.receipts:
            if step.action == "extend":
                if receipt in held:
                    held[receipt] = now_ms
            else:
                assert receipt not in done
                done[receipt] = step.action
        answered(keeper, step, now_ms)

    for kind, value in steps:
        if kind == "hold":
            receipts = [f"r{serial + number}" for number in range(value)]
            serial += value
            keeper.hold(receipts, now_ms)
            held.update(dict.fromkeys(receipts, now_ms))
        elif kind in {"ack", "nack"} and held:
            receipt = sorted(held)[value % len(held)]
            del held[receipt]
            decided[receipt] = kind
            if kind == "ack":
                keeper.ack(receipt, lambda now_ms=now_ms: now_ms)  # type: ignore[misc]
            else:
                keeper.nack(receipt, None if value % 2 else 3, lambda now_ms=now_ms: now_ms)  # type: ignore[misc]
        elif kind in {"step", "fail"}:
            step = keeper.next_step(now_ms)
            if step is not None and kind == "step":
                answer_one(step)
            elif step is not None:
                keeper.failed(step, Overloaded("busy"), now_ms, chance=0.5)
        elif kind == "time":
            now_ms += value * 100
            while (step := keeper.next_step(now_ms)) is not None:
                answer_one(step)
        assert keeper.unsettled == len(held) + len(decided) - len(done)
        assert all(now_ms - since_ms < 10_000 for since_ms in held.values())
    keeper.let_go()
    now_ms += 10
    while (step := keeper.next_step(now_ms)) is not None:
        answer_one(step)
    assert done == decided
    assert keeper.take_problems() == []
