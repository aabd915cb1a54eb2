"""Both sides of a fetch session: increments, long polls, fairness, bounds, and that every fault ends in a new one."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.fetch_client import FetchClient
from storage.replication.fetch_server import FetchServer
from storage.replication.leader_events import FetchRefusal, FetchVerdict, LogVerdict
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import LogView
from tests.unit.storage.replication.support import identity

SETTINGS = ReplicationSettings(fetch_bytes_max=100, partition_fetch_bytes_max=40, fetch_partitions_max=50)
ME = identity(2)


def partition(number: int) -> PartitionId:
    return PartitionId("t", number)


def fetch(number: int, offset: int = 0) -> PartitionFetch:
    return PartitionFetch(partition(number), 5, [LogPosition(offset, 1), LogPosition(0, -1)])


class Pair:
    """A client and a server, and logs that are as long as `ends` says, a byte per record."""

    def __init__(self, mode: FetchMode = FetchMode.LIVE, settings: ReplicationSettings = SETTINGS) -> None:
        self.client = FetchClient(ME, mode, settings)
        self.server = FetchServer(settings)
        self.ends: dict[PartitionId, tuple[int, int]] = {}
        self.high = 0
        self.now_ms = 0

    def views(self, partition_id: PartitionId) -> tuple[LogView, ...]:
        return tuple(LogView(0, self.high, end) for end in self.ends.get(partition_id, (0, 0)))

    def arrive(self, request: FetchRequest) -> FetchAnswer | None:
        refused = self.server.accept(request, self.now_ms)
        if refused is None:
            for each in request.partitions:
                logs = tuple(LogVerdict(position, None) for position in each.positions)
                self.server.judged(each.id, FetchVerdict(ME, 5, None, logs), self.views(each.id))
        self.server.check_invariants()
        return refused

    def grow(self, number: int, messages: int, records: int = 0) -> None:
        self.ends[partition(number)] = (messages, records)
        self.server.changed(partition(number), self.views(partition(number)))

    def answer(self) -> FetchAnswer:
        making = self.server.begin_answer()
        while (read := making.next_read()) is not None:
            size = min(read.until - read.position.offset, read.bytes_max)
            making.add(read, bytes([read.id.partition]) * size)
        answer = making.finish()
        self.server.check_invariants()
        self.client.check_invariants()
        return answer

    def exchange(self) -> FetchAnswer:
        request = self.client.next_request(self.now_ms)
        assert request is not None
        assert self.arrive(request) is None
        assert self.server.is_due(self.now_ms)
        return self.answer()


def offered(pair: Pair, *numbers: int) -> Pair:
    for number in numbers:
        pair.client.offer(fetch(number))
    return pair


def test_a_fetch_waits_until_there_is_something() -> None:
    pair = offered(Pair(), 0, 1)
    request = pair.client.next_request(0)
    assert request is not None
    assert pair.arrive(request) is None
    assert not pair.server.is_due(0)
    assert pair.server.next_deadline() == SETTINGS.fetch_wait_ms
    assert pair.client.next_request(0) is None
    pair.grow(1, 3)
    assert pair.server.is_due(0)
    answered, other = pair.client.answered(pair.answer(), 0)
    assert (answered.answer.id, bytes(answered.batches[0])) == (partition(1), b"\1\1\1")
    assert not other.answer.is_work  # it has got its first high watermark


def test_only_what_changed_is_said_again() -> None:
    pair = offered(Pair(), *range(5))
    pair.grow(3, 2)
    pair.client.answered(pair.exchange(), 0)
    pair.client.offer(fetch(3, 2))
    request = pair.client.next_request(0)
    assert request is not None
    assert [each.id for each in request.partitions] == [partition(3)]
    assert (request.session, request.sequence) == (1, 1)


def test_a_follower_that_has_records_to_write_does_not_ask_before_it_has_something_to_say() -> None:
    pair = offered(Pair(), 0, 1)
    pair.grow(0, 3)
    pair.client.answered(pair.exchange(), 10)
    assert pair.client.next_request(10) is None
    assert pair.client.next_deadline() == 10 + SETTINGS.fetch_gather_ms
    pair.client.offer(fetch(0, 3))
    said = pair.client.next_request(11)
    assert said is not None
    assert [each.id for each in said.partitions] == [partition(0)]


def test_a_follower_that_is_slow_to_write_hears_of_its_other_partitions_all_the_same() -> None:
    pair = offered(Pair(), 0, 1)
    pair.grow(0, 3)
    pair.client.answered(pair.exchange(), 10)
    asked = pair.client.next_request(10 + SETTINGS.fetch_gather_ms)
    assert asked is not None
    assert asked.partitions == []
    assert pair.client.next_request(10 + SETTINGS.fetch_gather_ms) is None


def test_new_positions_end_the_wait_of_the_fetch_before() -> None:
    pair = offered(Pair(), 0)
    first = pair.client.next_request(0)
    assert first is not None
    pair.arrive(first)
    pair.client.offer(fetch(1))
    second = pair.client.next_request(0)
    assert second is not None
    pair.client.offer(fetch(2))
    assert pair.client.next_request(0) is None  # two are under way
    pair.arrive(second)
    assert pair.server.is_due(0)
    assert pair.answer().sequence == 0
    assert not pair.server.is_due(0)


def test_a_partition_is_sent_once_until_it_says_its_new_position() -> None:
    pair = offered(Pair(), 0)
    pair.grow(0, 9)
    pair.client.answered(pair.exchange(), 0)
    pair.client.offer(fetch(7))
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.grow(0, 12)
    assert not pair.server.is_due(0)


def test_high_watermarks_ride_along_and_end_no_wait() -> None:
    pair = offered(Pair(), 0, 1)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.high = 4
    pair.grow(0, 0)
    assert not pair.server.is_due(0)
    pair.now_ms = SETTINGS.fetch_wait_ms
    answered = {each.answer.id: each.answer for each in pair.client.answered(pair.answer(), 0)}
    assert answered[partition(0)].logs[0].high_watermark == 4
    assert not answered[partition(0)].is_work
    pair.now_ms *= 2
    again = pair.client.next_request(pair.now_ms)
    assert again is not None
    assert again.partitions == []
    pair.arrive(again)
    pair.now_ms *= 2
    assert pair.answer().partitions == []


def test_an_answer_is_bounded_and_nobody_starves() -> None:
    """Ten partitions with more than fits: each gets its turn, and none two before the others have had one."""
    pair = offered(Pair(), *range(10))
    at: Counter[int] = Counter()
    for number in range(10):
        pair.grow(number, 1000)
    turns: list[int] = []
    for _ in range(20):
        answer = pair.exchange()
        assert len(answer.batches) <= SETTINGS.fetch_bytes_max
        for answered in pair.client.answered(answer, 0):
            number = answered.answer.id.partition
            turns.append(number)
            at[number] += len(answered.batches[0])
            pair.client.offer(fetch(number, at[number]))
    counts = Counter(turns)
    assert len(counts) == 10
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_logs_of_a_partition_take_turns() -> None:
    settings = replace(SETTINGS, fetch_bytes_max=40)
    pair = offered(Pair(settings=settings), 0)
    pair.grow(0, 1000, 1000)
    sizes = []
    at = [0, 0]
    for _ in range(4):
        [answered] = pair.client.answered(pair.exchange(), 0)
        sizes.append([len(batches) for batches in answered.batches])
        at = [position + size for position, size in zip(at, sizes[-1], strict=True)]
        pair.client.offer(PartitionFetch(partition(0), 5, [LogPosition(offset, 1) for offset in at]))
    assert sizes == [[40, 0], [0, 40], [40, 0], [0, 40]]


def test_the_first_batch_is_sent_however_large_it_is() -> None:
    pair = offered(Pair(), 0, 1)
    pair.grow(0, 500)
    pair.grow(1, 500)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    making = pair.server.begin_answer()
    read = making.next_read()
    assert read is not None
    assert read.takes_one
    making.add(read, bytes(500))
    assert making.next_read() is None
    assert len(making.finish().batches) == 500


def test_what_did_not_fit_any_more_is_first_in_the_next_answer() -> None:
    """Nothing may have to change for it: a follower that is behind would stay there."""
    pair = offered(Pair(), *range(3))
    for number in range(3):
        pair.grow(number, 90)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    making = pair.server.begin_answer()
    first, second = making.next_read(), None
    assert first is not None
    making.add(first, bytes(60))
    second = making.next_read()
    assert second is not None
    assert not second.takes_one
    making.add(second, b"")  # its first batch has more bytes than are left
    assert making.next_read() is None, "the answer is full"
    answer = making.finish()
    assert [each.id for each in answer.partitions if each.is_work] == [first.id]
    pair.server.check_invariants()
    pair.client.answered(answer, 0)
    request = pair.client.next_request(SETTINGS.fetch_gather_ms)
    assert request is not None
    pair.arrive(request)
    assert pair.server.is_due(0)
    again = pair.server.begin_answer().next_read()
    assert again is not None
    assert (again.id, again.takes_one) == (second.id, True)


def test_a_read_that_finds_nothing_is_no_answer() -> None:
    pair = offered(Pair(), 0)
    pair.grow(0, 5)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    making = pair.server.begin_answer()
    read = making.next_read()
    assert read is not None
    making.add(read, b"")
    assert making.next_read() is None
    assert not any(answer.is_work for answer in making.finish().partitions)
    request = pair.client.next_request(0) or FetchRequest(ME, 0, 1, 1, [], [], 100, 100)
    pair.arrive(request)
    assert not pair.server.is_due(0)
    pair.grow(0, 6)
    assert pair.server.is_due(0)


@pytest.mark.parametrize(
    ("verdict", "is_seen"),
    [
        (FetchVerdict(ME, 5, FetchRefusal.FENCED_EPOCH), "fencedEpoch"),
        (
            FetchVerdict(
                ME,
                5,
                None,
                (LogVerdict(LogPosition(9, 2), Diverged(1, 4)), LogVerdict(LogPosition(0, -1), Restart(3))),
            ),
            "",
        ),
    ],
)
def test_what_is_wrong_with_a_position_is_said_at_once(verdict: FetchVerdict, is_seen: str) -> None:
    pair = offered(Pair(), 0)
    request = pair.client.next_request(0)
    assert request is not None
    pair.server.accept(request, 0)
    pair.server.judged(partition(0), verdict, () if verdict.refusal else pair.views(partition(0)))
    assert pair.server.is_due(0)
    [answered] = pair.client.answered(pair.answer(), 0)
    assert answered.answer.refusal == is_seen
    if not is_seen:
        assert [log.diverged for log in answered.answer.logs] == [Diverged(1, 4), None]
        assert [log.restart for log in answered.answer.logs] == [None, Restart(3)]
    assert len(pair.client) == 0


def test_who_waits_is_told_that_the_leadership_is_over() -> None:
    pair = offered(Pair(), 0)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.server.refused(partition(0), FetchVerdict(ME, 6, FetchRefusal.NOT_LEADER))
    assert pair.server.is_due(0)
    [answered] = pair.client.answered(pair.answer(), 0)
    assert (answered.answer.refusal, answered.answer.leader_epoch) == ("notLeader", 6)


def test_a_log_start_that_moved_past_a_waiting_follower_is_said() -> None:
    pair = offered(Pair(), 0)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.server.changed(partition(0), (LogView(7, 7, 7), LogView(0, 0, 0)))
    [answered] = pair.client.answered(pair.answer(), 0)
    assert answered.answer.logs[0].restart == Restart(7)


def test_a_withdrawn_partition_leaves_the_session() -> None:
    pair = offered(Pair(), 0, 1)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.client.withdraw(partition(0))
    request = pair.client.next_request(0)
    assert request is not None
    assert request.forgotten == [partition(0)]
    pair.arrive(request)
    assert pair.server.partitions == [partition(1)]


# --- faults ---


def test_an_overdue_answer_begins_a_new_session_with_everything() -> None:
    pair = offered(Pair(), 0, 1)
    first = pair.client.next_request(0)
    assert first is not None
    overdue_ms = pair.client.next_deadline()
    assert overdue_ms == SETTINGS.fetch_wait_ms + SETTINGS.fetch_answer_timeout_ms
    pair.client.expire(overdue_ms - 1)
    assert pair.client.next_request(overdue_ms) is None
    pair.client.expire(overdue_ms)
    second = pair.client.next_request(overdue_ms)
    assert second is not None
    assert (second.session, second.sequence) == (2, 0)
    assert [each.id for each in second.partitions] == [partition(0), partition(1)]
    pair.arrive(second)
    late = pair.arrive(first)
    assert late is not None
    assert late.is_unknown
    assert pair.client.answered(late, 0) == []
    assert pair.client.sessions_begun == 2


@pytest.mark.parametrize("change", [{"sequence": 7}, {"session": 9, "sequence": 3}])
def test_a_fetch_out_of_place_is_refused(change: dict[str, int]) -> None:
    pair = offered(Pair(), 0)
    pair.grow(0, 1)
    pair.exchange()
    request = FetchRequest(ME, 0, 1, 1, [], [], 100, 100)
    for name, value in change.items():
        setattr(request, name, value)
    refused = pair.server.accept(request, 0)
    assert refused is not None
    assert refused.is_unknown


def test_an_unknown_session_is_begun_anew_after_a_pause() -> None:
    pair = offered(Pair(), 0)
    request = pair.client.next_request(0)
    assert request is not None
    assert pair.client.answered(FetchAnswer(1, 1, 0, [], is_unknown=True), 10) == []
    assert pair.client.next_request(10) is None
    assert pair.client.next_deadline() == 10 + SETTINGS.retry_ms
    again = pair.client.next_request(10 + SETTINGS.retry_ms)
    assert again is not None
    assert again.session == 2


def test_a_new_life_of_the_follower_replaces_the_old_one() -> None:
    pair = offered(Pair(), 0)
    first = pair.client.next_request(0)
    assert first is not None
    assert pair.arrive(first) is None
    other = FetchClient(identity(2, incarnation=2), FetchMode.LIVE, SETTINGS)
    other.offer(fetch(4))
    request = other.next_request(0)
    assert request is not None
    assert pair.arrive(request) is None
    assert pair.server.partitions == [partition(4)]
    [abandoned] = pair.server.take_abandoned()
    assert (abandoned.incarnation, abandoned.is_unknown) == (1, True)
    pair.client.offer(fetch(1))
    old = pair.client.next_request(0)
    assert old is not None
    assert pair.arrive(old) is not None


def test_an_answer_of_another_life_or_session_is_nothing() -> None:
    pair = offered(Pair(), 0)
    pair.grow(0, 3)
    answer = pair.exchange()
    for place in ({"incarnation": 2}, {"session": 2}, {"sequence": 5}):
        other = FetchAnswer(answer.incarnation, answer.session, answer.sequence, answer.partitions, answer.batches)
        for name, value in place.items():
            setattr(other, name, value)
        assert pair.client.answered(other, 0) == []
    assert len(pair.client.answered(answer, 0)) == 1
    assert pair.client.answered(answer, 0) == []


def test_a_lost_answer_begins_a_new_session() -> None:
    pair = offered(Pair(), 0)
    pair.grow(0, 3)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.answer()  # lost
    pair.client.offer(fetch(1))
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    pair.now_ms = SETTINGS.fetch_wait_ms
    pair.client.answered(pair.answer(), 0)
    assert pair.client.sessions_begun == 2
    request = pair.client.next_request(0)
    assert request is not None
    assert [each.id for each in request.partitions] == [partition(0), partition(1)]


# --- bounds ---


def test_a_fetch_names_so_many_partitions_and_the_next_one_the_rest() -> None:
    pair = offered(Pair(), *range(SETTINGS.fetch_partitions_max + 1))
    first, second = pair.client.next_request(0), pair.client.next_request(0)
    assert first is not None
    assert second is not None
    assert (len(first.partitions), len(second.partitions)) == (SETTINGS.fetch_partitions_max, 1)


def test_a_session_has_so_many_partitions() -> None:
    pair = offered(Pair(settings=replace(SETTINGS, session_partitions_max=3)), *range(3))
    request = pair.client.next_request(0)
    assert request is not None
    assert pair.arrive(request) is None
    pair.client.offer(fetch(2, 5))
    request = pair.client.next_request(0)
    assert request is not None
    assert pair.arrive(request) is None
    pair.client.answered(pair.answer(), 0)
    pair.client.offer(fetch(3))
    request = pair.client.next_request(0)
    assert request is not None
    refused = pair.arrive(request)
    assert refused is not None
    assert refused.is_unknown
    assert pair.server.partitions == []


def test_only_so_many_fetches_may_wait() -> None:
    pair = Pair()
    for sequence in range(SETTINGS.fetches_in_flight_max):
        assert pair.server.accept(FetchRequest(ME, 0, 1, sequence, [], [], 100, 100), 0) is None
    for sequence in (SETTINGS.fetches_in_flight_max, SETTINGS.fetches_in_flight_max + 1):
        refused = pair.server.accept(FetchRequest(ME, 0, 1, sequence, [], [], 100, 100), 0)
        assert refused is not None
        assert refused.is_unknown
    assert len(pair.server.take_abandoned()) == SETTINGS.fetches_in_flight_max


def test_catching_up_is_throttled_and_live_traffic_is_not() -> None:
    settings = replace(SETTINGS, catch_up_bytes_per_second=1_000)
    for mode, is_due in ((FetchMode.CATCH_UP, False), (FetchMode.LIVE, True)):
        pair = offered(Pair(mode, settings), 0)
        pair.grow(0, 40)
        pair.client.answered(pair.exchange(), 0)
        pair.client.offer(fetch(0, 40))
        assert (pair.client.next_request(39) is not None) is is_due
    assert pair.client.next_request(40) is None
    pair = offered(Pair(FetchMode.CATCH_UP, settings), 0)
    pair.grow(0, 40)
    pair.client.answered(pair.exchange(), 0)
    pair.client.offer(fetch(0, 40))
    assert pair.client.next_deadline() == 40
    assert pair.client.next_request(40) is not None


def test_whatever_is_lost_or_doubled_everything_arrives() -> None:
    """Twenty partitions of growing logs over a channel that loses, doubles and delays."""
    for seed in range(20):
        _deliver_everything(Random(seed))


def _deliver_everything(random: Random) -> None:
    pair = offered(Pair(), *range(20))
    ends = {number: random.randint(1, 300) for number in range(20)}
    at = dict.fromkeys(ends, 0)
    for number, end in ends.items():
        pair.grow(number, end)
    requests: list[FetchRequest] = []
    answers: list[FetchAnswer] = []
    for pair.now_ms in range(0, 400_000, 20):
        pair.client.expire(pair.now_ms)
        request = pair.client.next_request(pair.now_ms)
        requests += [request] * random.choice([0, 1, 1, 2]) if request else []
        while requests and random.random() < 0.8:
            refused = pair.arrive(requests.pop(0))
            answers += [refused] if refused else []
        if pair.server.is_due(pair.now_ms):
            answers += [pair.answer()] * random.choice([0, 1, 1, 1, 2])
        while answers and random.random() < 0.8:
            for answered in pair.client.answered(answers.pop(0), pair.now_ms):
                number = answered.answer.id.partition
                if answered.answer.logs[0].position.offset == at[number]:
                    at[number] += len(answered.batches[0])
                if answered.answer.is_work:
                    pair.client.offer(fetch(number, at[number]))
        if at == ends:
            return
    raise AssertionError(f"still missing: { {number: ends[number] - at[number] for number in ends} }")


def test_a_leadership_that_ends_between_two_reads_of_an_answer_is_told() -> None:
    pair = offered(Pair(), 0)
    pair.ends[partition(0)] = (30, 30)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    making = pair.server.begin_answer()
    first = making.next_read()
    assert first is not None
    making.add(first, b"")
    pair.server.refused(partition(0), FetchVerdict(ME, 5, FetchRefusal.NOT_LEADER))
    second = making.next_read()
    assert second is not None, "what is read is what the answer was begun with"
    making.add(second, b"")
    assert making.next_read() is None
    [answered] = making.finish().partitions
    assert (answered.id, answered.refusal) == (partition(0), FetchRefusal.NOT_LEADER.value)


def test_a_high_watermark_that_was_not_sent_after_all_is_told_later() -> None:
    pair = offered(Pair(), 0)
    pair.high = 7
    pair.ends[partition(0)] = (30, 0)
    request = pair.client.next_request(0)
    assert request is not None
    pair.arrive(request)
    making = pair.server.begin_answer()
    read = making.next_read()
    assert read is not None
    making.add(read, b"")  # its first batch does not fit
    [answered] = making.finish().partitions
    assert [log.high_watermark for log in answered.logs] == [7, 7]
    assert not answered.is_work
