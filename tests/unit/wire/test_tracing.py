import pytest

from acklog.wire.tracing import is_sampled

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
