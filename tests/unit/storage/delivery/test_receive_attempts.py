"""Which receives are remembered by their ids, and how many."""

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.every_message import EveryMessage
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.receive_attempts import ATTEMPT_AGE_MAX_MS, ATTEMPTS_MAX, ReceiveAttempts, ReceivedBefore

BEFORE = ReceivedBefore(1_700_000_000_000, 30_000)


class Bench:
    def __init__(self, attempts_max: int = ATTEMPTS_MAX) -> None:
        self.state = PartitionGroupState("g", EveryMessage(), start_offset=0, bounds=DeliverySettings())
        self.attempts = ReceiveAttempts(self.state, attempts_max=attempts_max)
        self.now_ms = 0

    def receive(self, attempt_id: str, *offsets: int) -> None:
        deadline_ms = self.now_ms + BEFORE.visibility_ms
        self.state.leases.grant(list(offsets), attempt=1, leader_epoch=3, consumer="c", deadline_ms=deadline_ms)
        self.attempts.note(attempt_id, offsets, BEFORE, now_ms=self.now_ms)

    def found(self, attempt_id: str) -> list[int]:
        found = self.attempts.find(attempt_id, now_ms=self.now_ms)
        return [] if found is None else [lease.offset for lease in found[1]]


def test_beyond_the_limit_the_oldest_is_forgotten() -> None:
    bench = Bench(attempts_max=3)
    for number in range(3):
        bench.receive(f"a{number}", number)
    assert [bench.found(f"a{number}") for number in range(3)] == [[0], [1], [2]]
    bench.receive("a3", 3)
    assert [bench.found(f"a{number}") for number in range(4)] == [[], [1], [2], [3]]
    assert len(bench.state.leases) == 4, "their leases go on"


def test_what_is_over_goes_from_the_oldest_on() -> None:
    bench = Bench(attempts_max=100)
    for number in range(10):
        bench.receive(f"a{number}", number)
    bench.state.leases.remove_all(range(9))
    bench.receive("b", 10)
    assert len(bench.attempts) == 2
    bench.now_ms = ATTEMPT_AGE_MAX_MS
    bench.receive("c", 11)
    assert len(bench.attempts) == 1


def test_the_last_receive_by_an_id_counts() -> None:
    bench = Bench()
    bench.receive("a", 1, 2)
    bench.receive("a", 3)
    assert bench.found("a") == [3]


def test_leases_are_renewed_with_what_their_receipts_say() -> None:
    bench = Bench()
    bench.receive("a", 4, 2)
    before = bench.attempts.find("a", now_ms=0)
    assert bench.attempts.renew("a", deadline_ms=90_000, now_ms=20_000)
    bench.now_ms = 89_999
    assert bench.attempts.find("a", now_ms=bench.now_ms) == before
    assert bench.state.leases.held_by("c") == 2
    assert bench.state.next_deadline() == 90_000
    bench.state.leases.check_invariants()
    bench.now_ms = 90_000
    assert bench.found("a") == []
    assert not bench.attempts.renew("a", deadline_ms=99_000, now_ms=90_000)


def test_what_is_being_settled_is_not_given_again() -> None:
    bench = Bench()
    bench.receive("a", 1)
    bench.state.mark_pending([1], end=2)
    assert bench.found("a") == []
