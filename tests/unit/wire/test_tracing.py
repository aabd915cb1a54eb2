import pytest

from acklog.wire.tracing import TRACESTATE_LENGTH_MAX, is_sampled, is_traceparent, is_tracestate

IDS = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"


@pytest.mark.parametrize("text", [f"00-{IDS}-01", f"00-{IDS}-03", f"01-{IDS}-01", f"01-{IDS}-01-more"])
def test_a_recorded_trace_is_told(text: str) -> None:
    assert is_sampled(text)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        f"00-{IDS}-00",
        f"00-{IDS}-02",
        f"00-{IDS}-01-more",
        f"00-{IDS}-01\n",
        f"ff-{IDS}-01",
        f"00-{IDS.upper()}-01",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
    ],
)
def test_everything_else_is_none(text: str | None) -> None:
    assert not is_sampled(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(f"00-{IDS}-00", True), (f"00-{IDS}-01", True), (f"cc-{IDS}-00-more", True), (f"00-{IDS}", False), ("", False)],
)
def test_what_is_a_traceparent(text: str, expected: bool) -> None:
    assert is_traceparent(text) is expected


FULL = "a=" + "x" * 253 + ",b=" + "y" * (TRACESTATE_LENGTH_MAX - 258)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vendor=xyz", True),
        ("a=1, b@c=x y ,,", True),
        (FULL, True),
        (FULL + "y", False),
        ("", False),
        (",", False),
        ("a", False),
        ("a=1,a=2", False),
        ("A=1", False),
        ("a=é", False),
        ("a=1\n", False),
        (",".join(f"k{number}=1" for number in range(32)), True),
        (",".join(f"k{number}=1" for number in range(33)), False),
    ],
)
def test_what_is_a_tracestate(text: str, expected: bool) -> None:
    assert is_tracestate(text) is expected
