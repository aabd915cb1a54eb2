"""Tells requests that wait that the server is about to stop."""

import asyncio


class Shutdown:
    """Begun once, by whoever runs the server, before it stops listening: long polls are then answered at once."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()

    @property
    def has_begun(self) -> bool:
        return self._begun.is_set()

    def begin(self) -> None:
        self._begun.set()

    async def wait(self) -> None:
        """Return once the shutdown has begun."""
        await self._begun.wait()
