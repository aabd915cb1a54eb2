"""Whether whoever asked still waits for the answer: a port, as the services know no connection."""

from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Patience(Protocol):
    """One caller's. HTTP's is `app.http.exchange.client_watch`."""

    @property
    def is_gone(self) -> bool:
        """The caller will not take the answer: what was leased for it must not stay leased."""

    async def wait(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """What `work` returns; None when it was given up because the caller is gone or the server stops."""
