"""The other processes of a gateway's server: a scrape of it tells the metrics of all."""

import asyncio
from collections.abc import Sequence

import structlog

from app.http.exchange.turns import Turns
from app.workers.merged_exposition import merged_exposition
from app.workers.metrics_door import Exposition, MetricsDoor
from app.workers.worker_names import metrics_socket
from cluster.line_limit import LineLimit
from storage.rpc.socket_directory import SocketDirectory

ANSWER_MS = 5_000
"""How long another process has to tell its metrics, before a scrape goes without them."""
EXPOSITION_BYTES_MAX = 64 * 1024 * 1024
"""Of one process."""

_log = structlog.get_logger(__name__)


class FellowWorkers:
    """`app.gateway.dependencies.Colleagues`."""

    def __init__(self, directory: SocketDirectory, own: str, others: Sequence[str]) -> None:
        self._directory = directory
        self._own = own
        self._others = others
        self._exposition: Exposition | None = None
        self._door: MetricsDoor | None = None
        self._turns = Turns()
        self._log_lines = LineLimit()

    def offer(self, exposition: Exposition) -> None:
        self._exposition = exposition

    async def open(self) -> None:
        """Raises OSError."""
        assert self._exposition is not None, "the application comes first"
        self._door = await MetricsDoor.open(self._directory, self._own, self._exposition)

    async def close(self) -> None:
        if self._door is not None:
            await self._door.close()

    async def whole_exposition(self, own: bytes) -> bytes:
        found = await asyncio.gather(*(self._ask(each) for each in self._others))
        return await self._turns.take(
            merged_exposition({self._own: own, **dict(zip(self._others, found, strict=True))})
        )

    async def _ask(self, worker: str) -> bytes | None:
        """None: it does not answer."""
        try:
            async with asyncio.timeout(ANSWER_MS / 1000):
                return await self._read(self._directory.address(metrics_socket(worker)))
        except (OSError, TimeoutError) as error:
            if self._log_lines.admits(asyncio.get_running_loop().time() * 1000) is not None:
                _log.warning("worker_tells_no_metrics", name=worker, reason=str(error) or "it did not answer in time")
            return None

    async def _read(self, path: str) -> bytes:
        """Raises OSError."""
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            parts: list[bytes] = []
            size_bytes = 0
            while part := await reader.read(256 * 1024):
                parts.append(part)
                size_bytes += len(part)
                if size_bytes > EXPOSITION_BYTES_MAX:
                    raise OSError(f"its metrics have more than {EXPOSITION_BYTES_MAX} bytes")
            return b"".join(parts)
        finally:
            writer.close()
