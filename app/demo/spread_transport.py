"""Requests spread over several gateways, as a load balancer does: in turn, and past one that has just been away."""

from collections.abc import Callable, Sequence

from acklog.client.call import Request, Response
from acklog.client.transport import Transport
from acklog.errors import CannotConnect, ConnectionFailed

REST_S = 0.5


class SpreadTransport:
    """A request that fails is not sent again here: that is the client's decision. `now_s` goes forward."""

    def __init__(self, transports: Sequence[Transport], now_s: Callable[[], float]) -> None:
        self._transports = list(transports)
        self._now_s = now_s
        self._rests_until_s = [0.0] * len(transports)
        self._turn = 0

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        chosen = self._choose()
        try:
            return await self._transports[chosen].perform(request, timeout_s=timeout_s)
        except (CannotConnect, ConnectionFailed):
            self._rests_until_s[chosen] = self._now_s() + REST_S
            raise

    async def close(self) -> None:
        for transport in self._transports:
            await transport.close()

    def _choose(self) -> int:
        """The next in turn; of all that rest, the one that has rested longest."""
        self._turn += 1
        order = [(self._turn + step) % len(self._transports) for step in range(len(self._transports))]
        now_s = self._now_s()
        awake = [number for number in order if self._rests_until_s[number] <= now_s]
        return awake[0] if awake else min(order, key=lambda number: self._rests_until_s[number])
