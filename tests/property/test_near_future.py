"""What is due and soon, held against a model that keeps everything in memory: whatever comes and goes, and however
little is kept near, each message is taken once, in order, and never early."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from acklog.wire.record import Record
from storage.schedule.changes import Added, Cancelled, Change, Fired, HandedOver, HandingOver, Moved, TakenBack
from storage.schedule.entries import END, Due, ScheduledEntry
from storage.schedule.memory_index import MemoryScheduleIndex
from storage.schedule.near_future import NearFuture
from storage.schedule.schedule_settings import ScheduleSettings

SMALL = ScheduleSettings(
    near_messages_max=4,
    near_bytes_max=100,
    near_window_ms=50,
    look_ahead_ms=20,
    due_messages_max=2,
    due_bytes_max=60,
)
TIMES = st.integers(0, 200)


class Model(RuleBasedStateMachine):
    """`pending` is all that is scheduled: when it is due, and what gave it that time. The index stands for the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.offset = 0
        self.pending: dict[int, tuple[int, int]] = {}
        self.under_way: list[list[Due]] = []
        self.away: list[list[int]] = []
        self.held: int | None = None
        self.changing: set[int] = set()
        self.taken: set[int] = set()

    @initialize(scheduled=st.lists(TIMES, max_size=12))
    def begin(self, scheduled: list[int]) -> None:
        self.index = MemoryScheduleIndex()
        self.near: NearFuture | None = None
        for due in scheduled:
            self.add(due, 10)
        self.near = NearFuture(SMALL)

    def commit(self, what: Added | Cancelled | Moved | Fired | HandingOver | HandedOver | TakenBack) -> None:
        change = Change(self.offset, what)
        self.offset += 1
        self.index.apply([change], applied=self.offset, applied_epoch=1)
        if self.near is not None:
            self.near.apply([change], self.now)

    @rule(due=TIMES, size=st.integers(1, 70))
    def add(self, due: int, size: int) -> None:
        entry = ScheduledEntry(self.offset, 1, due, self.offset, self.offset, size)
        self.pending[entry.id] = (due, entry.order)
        self.commit(Added(entry, Record(b"%d" % entry.id)))

    @rule(by=st.integers(1, 60))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule()
    def a_clock_goes_back(self) -> None:
        self.now = max(0, self.now - 30)

    @rule(give_back=st.booleans())
    def read_ahead(self, give_back: bool) -> None:
        assert self.near is not None
        wanted = self.near.wanted(self.now)
        if wanted is None:
            return
        entries = self.index.after(wanted.since, before_ms=END.due_ms, limit=wanted.messages_max + 1)
        near = [entry for entry in entries[: wanted.messages_max] if entry.due_ms < wanted.before_ms]
        horizon = END if len(near) == len(entries) else entries[len(near)].key
        # In two pieces, as it is handed over: what comes in between may take the room of the second.
        since, half = wanted.since, len(near) // 2
        for piece, until in ((near[:half], near[half].key if near else horizon), (near[half:], horizon)):
            if not self.near.loaded([Due(entry, Record(b"%d" % entry.id)) for entry in piece], since, until):
                break
            since = until
            if self.under_way and give_back:
                self.refuse_last()

    @rule()
    def take(self) -> None:
        assert self.near is not None
        taken = self.near.take_due(self.now, self.is_held)
        assert all(due.entry.due_ms <= self.now for due in taken), "early"
        assert [due.record.body for due in taken] == [b"%d" % due.entry.id for due in taken]
        for due in taken:
            assert self.pending[due.entry.id] == due.entry.key, "not what is scheduled"
            assert due.entry.id not in self.taken, "taken twice"
            assert due.entry.id not in self.changing, "taken while it is being changed"
            assert due.entry.id % 2 != self.held, "taken while it is held"
            earlier = [
                id_
                for id_, key in self.pending.items()
                if key < due.entry.key and id_ not in self.taken | self.changing and id_ % 2 != self.held
            ]
            assert not earlier, "out of order"
            self.taken.add(due.entry.id)
        if taken:
            self.under_way.append(taken)

    @precondition(lambda self: self.under_way)
    @rule()
    def record(self) -> None:
        fired = self.under_way.pop(0)
        self.commit(Fired([due.entry.id for due in fired], 0, 1))
        for due in fired:
            del self.pending[due.entry.id]

    @precondition(lambda self: self.under_way)
    @rule()
    def begin_handing_over(self) -> None:
        ids = [due.entry.id for due in self.under_way.pop(0)]
        self.away.append(ids)
        self.commit(HandingOver(1, 1, 1, ids))

    @precondition(lambda self: self.away)
    @rule(is_taken_back=st.booleans())
    def end_handing_over(self, is_taken_back: bool) -> None:
        ids = self.away.pop(0)
        if is_taken_back:
            self.taken -= set(ids)
            self.commit(TakenBack(1, ids))
            return
        self.commit(HandedOver(1, ids, 0, 1))
        for id_ in ids:
            del self.pending[id_]

    @rule(parity=st.none() | st.integers(0, 1))
    def hold(self, parity: int | None) -> None:
        """Some have to wait, though they are due."""
        self.held = parity

    def is_held(self, due: Due) -> bool:
        return due.entry.id % 2 == self.held

    @precondition(lambda self: self.under_way)
    @rule()
    def refuse(self) -> None:
        self.refuse_last()

    def refuse_last(self) -> None:
        back = self.under_way.pop()
        assert self.near is not None
        self.near.give_back(back)
        self.taken -= {due.entry.id for due in back}

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def begin_change(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(self.pending)))
        assert self.near is not None
        if id_ not in self.changing:
            assert self.near.begin_change(id_) == (id_ not in self.taken)
            if id_ not in self.taken:
                self.changing.add(id_)

    @precondition(lambda self: self.changing)
    @rule(data=st.data(), due=st.none() | TIMES)
    def end_change(self, data: st.DataObject, due: int | None) -> None:
        """It is cancelled, or moved to `due`."""
        id_ = data.draw(st.sampled_from(sorted(self.changing)))
        assert self.near is not None
        if due is None:
            self.commit(Cancelled(id_))
            del self.pending[id_]
        else:
            self.pending[id_] = (due, self.offset)
            self.commit(Moved(id_, due))
        self.near.end_change(id_)
        self.changing.discard(id_)

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def write_anew(self, data: st.DataObject) -> None:
        id_ = data.draw(st.sampled_from(sorted(self.pending)))
        due, order = self.pending[id_]
        entry = ScheduledEntry(id_, 1, due, order, self.offset, 10)
        self.commit(Added(entry, Record(b"%d" % id_)))

    @invariant()
    def is_sound(self) -> None:
        if getattr(self, "near", None) is not None:
            assert self.near is not None
            self.near.check_invariants()

    def teardown(self) -> None:
        """In the end all of it is taken."""
        if getattr(self, "near", None) is None:
            return
        assert self.near is not None
        while self.changing:
            self.near.end_change(self.changing.pop())
        while self.away:
            self.end_handing_over(is_taken_back=True)
        self.held, self.now = None, 10_000
        for _ in range(200):
            if not self.pending:
                return
            self.read_ahead(give_back=False)
            self.take()
            while self.under_way:
                self.record()
        assert not self.pending, "lost"


TestModel = Model.TestCase
TestModel.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@given(st.lists(TIMES, min_size=1, max_size=30))
def test_the_next_deadlines_lead_to_everything(times: list[int]) -> None:
    """Who looks only when it is told to misses nothing."""
    index, near = MemoryScheduleIndex(), NearFuture(SMALL)
    changes = [Change(at, Added(ScheduledEntry(at, 1, due, at, at, 30), Record(b""))) for at, due in enumerate(times)]
    index.apply(changes, applied=len(times), applied_epoch=1)
    now, taken = 0, []
    while len(taken) < len(times):
        deadlines = [each for each in (near.next_read(), near.next_due()) if each is not None]
        assert deadlines, "nothing will ever be looked at"
        now = max(now, min(deadlines))
        wanted = near.wanted(now)
        if wanted is not None:
            entries = index.after(wanted.since, before_ms=wanted.before_ms, limit=wanted.messages_max)
            rest = index.after(wanted.since, before_ms=END.due_ms, limit=len(entries) + 1)[len(entries) :]
            found_now = [Due(entry, Record(b"")) for entry in entries]
            assert near.loaded(found_now, wanted.since, rest[0].key if rest else END)
        found = near.take_due(now)
        near.apply([Change(0, Fired([due.entry.id for due in found], 0, 1))], now)
        index.apply([Change(0, Fired([due.entry.id for due in found], 0, 1))], applied=0, applied_epoch=1)
        taken += [due.entry.due_ms for due in found]
    assert taken == sorted(times)
