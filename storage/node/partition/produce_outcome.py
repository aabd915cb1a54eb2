"""What becomes of one produced batch, as far as its producer is told."""

import asyncio

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.round import Appended
from storage.rpc.messages import ProduceResponse
from storage.rpc.node_api import ProduceWaiter

OVERLOADED_RETRY_MS = 1000


class ProduceOutcome:
    """Tells `waiter` at once: where the batch is, why it is not, or that the time was up."""

    __slots__ = ("_is_known", "_leader_epoch", "_timer", "_waiter")

    def __init__(self, waiter: ProduceWaiter, *, leader_epoch: int, timeout_ms: int) -> None:
        self._waiter = waiter
        self._leader_epoch = leader_epoch
        self._is_known = False
        # A timer of the loop costs a tenth of an `asyncio.timeout`, and every send has one.
        self._timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self._time_out, timeout_ms)

    def done(self) -> bool:
        return self._is_known

    def set_result(self, appended: Appended, /) -> None:
        self.forget()
        if not self._waiter.done():
            self._waiter.set_result(
                ProduceResponse(appended.base_offset, self._leader_epoch, appended.append_time_ms),
            )

    def set_exception(self, error: BaseException, /) -> None:
        self.forget()
        if not self._waiter.done():
            self._waiter.set_exception(error)

    def forget(self) -> None:
        """Nothing more is to be told."""
        self._is_known = True
        self._timer.cancel()

    def _time_out(self, timeout_ms: int) -> None:
        if not self._is_known:
            self.set_exception(unconfirmed(timeout_ms))


def unconfirmed(timeout_ms: int) -> ServerError:
    detail = f"The append was not confirmed within {timeout_ms} ms; it may still be stored."
    return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=OVERLOADED_RETRY_MS)
