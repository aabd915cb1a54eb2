"""Whether a request that waits would still be let in: none must get what was sent after its token was revoked.

Who asks is found out when a request begins, and again for one that waits when tokens change, and when its own has
come to its end. What it may do is not asked again: rights that have changed are for the next request.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from app.auth.callers import Callers
from app.auth.principal import Principal
from app.http.exchange.request import RequestHeaders, principal_of
from cluster.errors import ServerError

LOOKED_AHEAD_MS = 60_000
"""No request waits for longer, so an end that is later concerns none."""


class RequestStanding:
    """`judged` says who asks, and raises one of `refusals` where nobody of that name is let in."""

    def __init__(
        self,
        judged: Callable[[], Principal],
        callers: Callers,
        *,
        refusals: tuple[type[Exception], ...] = (ServerError,),
    ) -> None:
        """Raises what `judged` does."""
        self._judged = judged
        self._callers = callers
        self._refusals = refusals
        self.principal: Principal = judged()

    def watch(self, on_refused: Callable[[Exception], None]) -> Callable[[], None]:
        """Call `on_refused` where it would not be let in any more, be it already now; returns how to stop that."""

        def judge() -> None:
            try:
                self._judged()
            except self._refusals as error:
                on_refused(error)

        judge()
        unsubscribe = self._callers.subscribe(judge)
        left_ms = self._callers.ms_left(self.principal)
        if left_ms is None or left_ms > LOOKED_AHEAD_MS:
            return unsubscribe
        timer = asyncio.get_running_loop().call_later(max(0, left_ms) / 1000, judge)

        def stop() -> None:
            unsubscribe()
            timer.cancel()

        return stop


class CallerStanding(RequestStanding):
    def __init__(self, headers: RequestHeaders, callers: Callers) -> None:
        """By a token or a certificate. Raises ServerError as `principal_of` does."""
        super().__init__(partial(principal_of, headers, callers), callers)
