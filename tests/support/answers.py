"""What fakes whose answers a test decides have in common."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any


class Answers:
    """`hold` keeps calls of one kind waiting; `behave` replaces one."""

    def __init__(self, behaviours: Mapping[str, Callable[[Any], Any]]) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.cancelled: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._behaviours = dict(behaviours)

    def hold(self, name: str) -> asyncio.Event:
        """Calls of `name` wait until the returned event is set."""
        gate = self._gates[name] = asyncio.Event()
        return gate

    def behave(self, name: str, behaviour: Callable[[Any], Any]) -> None:
        """`behaviour(request)` is the answer, or raises it."""
        self._behaviours[name] = behaviour

    def calls(self, name: str) -> list[Any]:
        return [request for seen, request in self.seen if seen == name]

    async def _call(self, name: str, request: Any) -> Any:
        self.seen.append((name, request))
        try:
            if name in self._gates:
                await self._gates[name].wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        return self._behaviours[name](request)
