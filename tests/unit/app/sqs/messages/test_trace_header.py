"""The trace of X-Ray, and the one that other readers know."""

import pytest

from app.sqs.messages.trace_header import trace_headers, trace_of

WHOLE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
TRACEPARENT = "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"


def test_what_both_can_say() -> None:
    assert trace_headers(WHOLE) == {"traceparent": TRACEPARENT}
    assert trace_of({"traceparent": TRACEPARENT}) == WHOLE
    assert trace_of({"traceparent": TRACEPARENT[:-2] + "00"}) == WHOLE[:-1] + "0"


@pytest.mark.parametrize(
    ("trace", "has_traceparent"),
    [
        (WHOLE + ";Lineage=a:1", True),
        ("Sampled=1; " + WHOLE.removesuffix(";Sampled=1"), True),
        (WHOLE.removesuffix(";Sampled=1"), True),
        ("Root=1-5759e988-bd862e3fe1be46a994272793", False),
        ("Root=1-00000000-000000000000000000000000;Parent=53995c3f42cd8ad8;Sampled=1", False),
        ("whatever it is", False),
    ],
)
def test_nothing_is_lost(trace: str, has_traceparent: bool) -> None:
    headers = trace_headers(trace)
    assert trace_of(headers) == trace
    assert ("traceparent" in headers) == has_traceparent


@pytest.mark.parametrize("headers", [{}, {"traceparent": ""}, {"traceparent": "00-1-2-3"}])
def test_none_is_said(headers: dict[str, str]) -> None:
    assert trace_of(headers) is None
