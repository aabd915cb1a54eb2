"""Why messages failed, against a naive model: a list of all that was said, of which only the newest counts."""

import hypothesis.strategies as st
from hypothesis import given

from acklog.wire.failure_reason import FailureReason
from acklog.wire.limits import FAILURE_REASONS_MAX
from storage.delivery.failures import REASON_OVERHEAD_BYTES, FailureReasons

OFFSETS = st.integers(0, 4)
SAID = st.tuples(OFFSETS, st.integers(1, 12), st.text(max_size=5))
STEPS = st.lists(st.tuples(st.just("add"), SAID) | st.tuples(st.just("forget"), OFFSETS), max_size=60)


def size_bytes(reasons: list[FailureReason]) -> int:
    return sum(REASON_OVERHEAD_BYTES + len(each.reason.encode()) for each in reasons)


@given(steps=STEPS, bytes_max=st.integers(0, 12 * REASON_OVERHEAD_BYTES))
def test_they_are_the_last_ones_of_who_failed_last(steps: list, bytes_max: int) -> None:
    reasons, model = FailureReasons(bytes_max), list[tuple[int, list[FailureReason]]]()
    for now_ms, (step, what) in enumerate(steps):
        offset = what if step == "forget" else what[0]
        said = next((said for known, said in model if known == offset), [])
        model = [(known, said) for known, said in model if known != offset]
        if step == "forget":
            reasons.forget(offset)
        else:
            reason = FailureReason(what[1], now_ms, what[2])
            reasons.add(offset, reason)
            said = said[:-1] if said and said[-1].attempt == reason.attempt else said
            model.append((offset, [*said, reason][-FAILURE_REASONS_MAX:]))
        while sum(size_bytes(each) for _, each in model) > bytes_max:
            model.pop(0)
        assert reasons.snapshot() == [(known, tuple(each)) for known, each in model]
        assert reasons.size_bytes == sum(size_bytes(each) for _, each in model) <= bytes_max
        copy = FailureReasons(bytes_max)
        copy.restore(reasons.snapshot())
        assert (copy.snapshot(), copy.size_bytes) == (reasons.snapshot(), reasons.size_bytes)
