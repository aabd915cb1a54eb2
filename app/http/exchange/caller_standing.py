"""Whether a request that waits would still be let in: none must get what was sent after its token was revoked.

Who asks is found out when a request begins, and again for one that waits when tokens or an issuer's keys change, and
when its own has come to its end. What it may do is not asked again, as rights that have changed are for the next
request; only a stream, which has no end of its own, ends with them.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from acklog.wire.problems import ProblemCode
from app.auth.callers import Callers
from app.auth.principal import Principal
from app.http.exchange.request import RequestHeaders, principal_now, principal_of
from cluster.errors import ServerError

LOOKED_AHEAD_MS = 60_000
"""A later end is looked for again after so long: streams last for hours, and the clock may be set."""


class RequestStanding:
    """`judged` says who asks, and raises one of `refusals` where nobody of that name is let in."""

    def __init__(
        self,
        judged: Callable[[], Principal],
        callers: Callers,
        *,
        first: Principal | None = None,
        refusals: tuple[type[Exception], ...] = (ServerError,),
    ) -> None:
        """`first` is who asks, where that is known already. Raises what `judged` does."""
        self._judged = judged
        self._callers = callers
        self._refusals = refusals
        self.principal: Principal = judged() if first is None else first

    def watch(self, on_refused: Callable[[Exception], None]) -> Callable[[], None]:
        """Call `on_refused` where it would not be let in any more, be it already now; returns how to stop that."""
        timer: asyncio.TimerHandle | None = None

        def stop_timer() -> None:
            if timer is not None:
                timer.cancel()

        def judge() -> None:
            nonlocal timer
            stop_timer()
            try:
                left_ms = self._callers.ms_left(self._judged())
            except self._refusals as error:
                on_refused(error)
                return
            # Armed until it is refused: loops fire up to a millisecond too early, and the clock may be set back.
            if left_ms is not None:
                ahead_ms = min(max(1, left_ms), LOOKED_AHEAD_MS)
                timer = asyncio.get_running_loop().call_later(ahead_ms / 1000, judge)

        judge()
        unsubscribe = self._callers.subscribe(judge)

        def stop() -> None:
            unsubscribe()
            stop_timer()

        return stop


class CallerStanding(RequestStanding):
    def __init__(self, headers: RequestHeaders, callers: Callers) -> None:
        """By a token or a certificate. Raises ServerError as `principal_of` does."""
        super().__init__(partial(principal_now, headers, callers), callers, first=principal_of(headers, callers))


class StreamStanding(RequestStanding):
    """Of what lasts for hours: it also ends when the rights change with which it began."""

    def __init__(self, headers: RequestHeaders, callers: Callers) -> None:
        """Raises ServerError as `principal_of` does."""
        first = principal_of(headers, callers)

        def judged() -> Principal:
            principal = principal_now(headers, callers)
            if (principal.name, principal.rights) != (first.name, first.rights):
                raise ServerError(ProblemCode.FORBIDDEN, "what the token may do has changed")
            return principal

        super().__init__(judged, callers, first=first)
