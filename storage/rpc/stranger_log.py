"""What is logged of connections that anybody may open: no more of it than a disk can bear."""

import asyncio

import structlog

from cluster.line_limit import LineLimit, LineLimitSettings

logger = structlog.get_logger(__name__)


class StrangerLog:
    """`events` are few, so one limit each is remembered."""

    def __init__(self, settings: LineLimitSettings) -> None:
        self._settings = settings
        self._limits: dict[str, LineLimit] = {}

    def warn(self, event: str, **fields: object) -> None:
        limit = self._limits.get(event)
        if limit is None:
            limit = self._limits[event] = LineLimit(self._settings)
        left_out = limit.admits(asyncio.get_running_loop().time() * 1000)
        if left_out is None:
            return
        if left_out:
            fields["left_out"] = left_out
        logger.warning(event, **fields)
