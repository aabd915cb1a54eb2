"""Any interleaving of appends, failures, time and restarts against a plain dictionary (rules R19, R28)."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.produce.dedup_window import ENTRY_OVERHEAD_BYTES, DedupWindow
from storage.rpc.messages import KeyedResult

WINDOW_MS = 100
LIMIT_BYTES = 6 * (ENTRY_OVERHEAD_BYTES + 1)

key_lists = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([b"A" * 8, b"B" * 8]), st.sampled_from([1, 2])),
    min_size=1,
    max_size=4,
    unique_by=lambda run: run[0],
).map(lambda runs: [DedupKey(2 * index, key, print_, count) for index, (key, print_, count) in enumerate(runs)])


class DedupMachine(RuleBasedStateMachine):
    """`known` is what was committed: key to (offset, fingerprint and count, age began at)."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1000
        self.next_offset = 0
        self.window = DedupWindow(window_ms=WINDOW_MS, limit_bytes=LIMIT_BYTES)
        self.known: dict[str, tuple[int, tuple[bytes, int], int]] = {}
        self.reserved: dict[int, list[DedupKey]] = {}
        self.log: list[tuple[list[DedupKey], int, int]] = []

    def is_remembered(self, key: str) -> bool:
        return key in self.known and self.known[key][2] + WINDOW_MS > self.now_ms

    def remembered(self) -> int:
        pending = sum(map(len, self.reserved.values()))
        return pending + sum(1 for key in self.known if self.is_remembered(key))

    @rule(keys=key_lists)
    def send(self, keys: list[DedupKey]) -> None:
        verdict = self.window.check(keys, self.now_ms)
        pending = [token for token, held in self.reserved.items() if {k.key for k in held} & {k.key for k in keys}]
        known = [
            KeyedResult(
                each.index,
                self.known[each.key][0],
                1,
                self.known[each.key][1] != (each.fingerprint, each.count),
                each.count,
            )
            for each in keys
            if self.is_remembered(each.key)
        ]
        assert sorted(verdict.pending) == pending
        assert verdict.known == known
        if known or pending:
            with pytest.raises(ValueError, match="already"):
                self.window.reserve(keys, self.now_ms)
        elif self.remembered() + len(keys) > 6:
            with pytest.raises(ServerError) as caught:
                self.window.reserve(keys, self.now_ms)
            assert caught.value.code is ProblemCode.DEDUP_WINDOW_FULL
            assert caught.value.retry_after_ms
        else:
            self.reserved[self.window.reserve(keys, self.now_ms)] = keys

    @precondition(lambda self: self.reserved)
    @rule()
    def commit(self) -> None:
        token = next(iter(self.reserved))
        keys = self.reserved.pop(token)
        self.window.commit(token, self.next_offset, 1, self.now_ms)
        self.log.append((keys, self.next_offset, self.now_ms))
        for each in keys:
            self.known[each.key] = (self.next_offset + each.index, (each.fingerprint, each.count), self.now_ms)
        self.next_offset += 10

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(list(self.reserved)))
        del self.reserved[token]
        self.window.abort(token)

    @rule(elapsed_ms=st.integers(1, 120))
    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms

    @rule()
    def restart(self) -> None:
        """Appends that were under way are not in the log; everything else is known again."""
        self.reserved = {}
        self.window = DedupWindow(window_ms=WINDOW_MS, limit_bytes=LIMIT_BYTES)
        for keys, offset, appended_ms in self.log:
            self.window.rebuild(keys, offset, 1, age_ms=self.now_ms - appended_ms, now_ms=self.now_ms)

    @invariant()
    def is_consistent(self) -> None:
        self.window.check_invariants()
        assert self.window.size_bytes <= LIMIT_BYTES


TestDedupWindow = DedupMachine.TestCase
TestDedupWindow.settings = settings(
    max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
