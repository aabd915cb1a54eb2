"""Why a node has to be closed, told once and waited for by whoever runs it."""

import asyncio


class StorageFailedError(Exception):
    """The data directory cannot be served: another node has to lead what this one leads."""


class NodeEnd:
    """For one event loop. The first reason counts."""

    def __init__(self) -> None:
        self._reason: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    @property
    def reason(self) -> Exception | None:
        """None while the node may go on."""
        return self._reason.result() if self._reason.done() else None

    def tell(self, reason: Exception) -> None:
        if not self._reason.done():
            self._reason.set_result(reason)

    async def wait(self) -> Exception:
        """Return once there is a reason; any number of callers may wait."""
        return await asyncio.shield(self._reason)
