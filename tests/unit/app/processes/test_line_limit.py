"""Lines that strangers can cause."""

import logging

from app.processes.logging import _StrangersLines
from cluster.line_limit import LineLimit, LineLimitSettings


def test_lines_beyond_the_limit_are_counted_until_the_window_is_over() -> None:
    limit = LineLimit(LineLimitSettings(lines_max=2, window_ms=100))
    assert [limit.admits(now) for now in (0, 1, 2, 3, 99)] == [0, 0, None, None, None]
    assert [limit.admits(now) for now in (100, 101, 102, 200)] == [3, 0, None, 1]


def test_the_http_parsers_warnings_are_limited_and_other_lines_are_not() -> None:
    lines = _StrangersLines()

    def admitted(name: str) -> int:
        record = logging.makeLogRecord({"name": name, "levelno": logging.WARNING, "msg": "Invalid HTTP request"})
        return sum(lines.filter(record) for _ in range(100))

    assert admitted("uvicorn.error") == LineLimitSettings().lines_max
    assert admitted("acklog.gateway") == 100
