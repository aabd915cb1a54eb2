"""Asking the coordination store for what the metadata view does not show."""

import asyncio
from collections.abc import Awaitable, Callable

from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from cluster.errors import ServerError
from cluster.model import keys
from cluster.ports.coordination import CoordinationError

RETRY_AFTER_MS = 1_000


class Confirmations:
    """The view hears of others' changes a moment late, or much later where the store cannot be reached. So "there is no
    such topic" is said only when the store has said it; as long as it cannot, nobody knows."""

    def __init__(self, gateway: Gateway) -> None:
        self._metadata = gateway.metadata
        self._groups = _Shared(lambda: self._metadata.confirm_all(keys.GROUPS))
        self._timeout_ms = min(gateway.settings.catalog_confirm_timeout_ms, gateway.settings.request_timeout_ms)

    def deadline(self) -> float:
        """When what begins now has to be answered, by the event loop's time."""
        return asyncio.get_running_loop().time() + self._timeout_ms / 1000

    async def confirm(self, key: str, question: str, *, deadline: float | None = None) -> None:
        """See `MetadataView.confirm`. `question` is what cannot be answered without it, to be read behind "it cannot be
        known now". Raises ServerError UNAVAILABLE."""
        await self._in_time(self._metadata.confirm(key), question, self.deadline() if deadline is None else deadline)

    async def confirm_all(self, prefix: str, question: str) -> None:
        """See `MetadataView.confirm_all`. Raises ServerError UNAVAILABLE."""
        await self._in_time(self._metadata.confirm_all(prefix), question, self.deadline())

    async def confirm_groups(self) -> None:
        """Have the view show every group that there is: who has a group's id only cannot ask for that one. Raises
        ServerError UNAVAILABLE."""
        await self._in_time(self._groups.confirm(), "whether there is such a group", self.deadline())

    async def _in_time(self, confirming: Awaitable[None], question: str, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await confirming
        except TimeoutError:
            reason = f"the coordination store did not say it within {self._timeout_ms:,} ms"
        except CoordinationError as error:
            reason = f"the coordination store cannot be asked ({error})"
        else:
            return
        detail = f"it cannot be known now {question}: {reason}"
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=RETRY_AFTER_MS)


class _Shared:
    """One confirmation after the other, each for everybody who asked before it began."""

    def __init__(self, confirm: Callable[[], Awaitable[None]]) -> None:
        self._confirm = confirm
        self._asked = 0
        self._confirmed = 0
        self._one_at_a_time = asyncio.Lock()

    async def confirm(self) -> None:
        self._asked = ticket = self._asked + 1
        async with self._one_at_a_time:
            if self._confirmed >= ticket:
                return
            newest = self._asked
            await self._confirm()
            self._confirmed = newest
