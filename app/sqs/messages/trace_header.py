"""The trace of X-Ray, as SQS has it, and the `traceparent` that other readers know."""

import re
from collections.abc import Mapping

from acklog.wire.tracing import TRACEPARENT
from app.sqs.messages.attribute_headers import TRACE

_PART = re.compile(r"(?:^|;)\s*(Root|Parent|Sampled)=([^;\s]+)")
_ROOT = re.compile(r"1-([0-9a-f]{8})-([0-9a-f]{24})")
_SPAN = re.compile(r"[0-9a-f]{16}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_SAMPLED = 1


def is_trace(text: str) -> bool:
    """Whether it says which trace, in characters that every header may have."""
    return text.isascii() and text.isprintable() and "Root" in dict(_PART.findall(text))


def trace_headers(trace: str) -> dict[str, str]:
    """The headers that say it: whole, where the one that others know does not say all of it."""
    traceparent = _traceparent_of(trace)
    if traceparent is None:
        return {TRACE: trace}
    headers = {TRACEPARENT: traceparent}
    if trace_of(headers) != trace:
        headers[TRACE] = trace
    return headers


def trace_of(headers: Mapping[str, str]) -> str | None:
    """None where no header says any."""
    if TRACE in headers:
        return headers[TRACE]
    found = _TRACEPARENT.fullmatch(headers.get(TRACEPARENT, ""))
    if found is None:
        return None
    trace_id, span_id, flags = found.groups()
    return f"Root=1-{trace_id[:8]}-{trace_id[8:]};Parent={span_id};Sampled={int(flags, 16) & _SAMPLED}"


def _traceparent_of(trace: str) -> str | None:
    """None where it does not say what one has to."""
    parts = dict(_PART.findall(trace))
    root, parent = _ROOT.fullmatch(parts.get("Root", "")), parts.get("Parent", "")
    if root is None or not _SPAN.fullmatch(parent):
        return None
    trace_id = root[1] + root[2]
    if not int(trace_id, 16) or not int(parent, 16):
        return None
    return f"00-{trace_id}-{parent}-{'01' if parts.get('Sampled') == '1' else '00'}"
