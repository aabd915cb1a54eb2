"""An append until its producer is told what became of it."""

import asyncio
from typing import Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.log_queue import Appended
from storage.node.partition.sent_batches import SourceKey
from storage.rpc.messages import ProduceResponse
from storage.rpc.node_api import ProduceWaiter

OVERLOADED_RETRY_MS = 1000


class Appending(Protocol):
    """The partition, as far as the log's word about one of its appends goes."""

    def flushed(self, append: "PendingAppend", appended: Appended) -> None: ...

    def refused(self, append: "PendingAppend", error: BaseException) -> None: ...


class PendingAppend:
    """The one place where an append's outcome is noted, from the log to the producer: `waiter` is told once, where the
    batch is, why it is not, or that the time was up.

    `token` holds its idempotency keys; `is_by_mapping`: its topic's mapping put it into this partition. `appended` is
    known when it is durable here.
    """

    __slots__ = (
        "_host",
        "_is_told",
        "_timer",
        "_waiter",
        "acks",
        "appended",
        "batch",
        "is_by_mapping",
        "leader_epoch",
        "source",
        "token",
    )
    appended: Appended

    def __init__(
        self,
        host: Appending,
        batch: bytearray,
        acks: int,
        waiter: ProduceWaiter,
        *,
        leader_epoch: int,
        source: SourceKey | None = None,
        token: int | None = None,
    ) -> None:
        self._host = host
        self._waiter = waiter
        self._is_told = False
        self._timer: asyncio.TimerHandle | None = None
        self.batch = batch
        self.acks = acks
        self.leader_epoch = leader_epoch
        self.source = source
        self.token = token
        self.is_by_mapping = False

    # --- what the log says -----------------------------------------------------------------------------------------

    def done(self) -> bool:
        return False

    def set_result(self, appended: Appended, /) -> None:
        self._host.flushed(self, appended)

    def set_exception(self, error: BaseException, /) -> None:
        self._host.refused(self, error)

    # --- what the producer is told ---------------------------------------------------------------------------------

    def begin(self, timeout_ms: int) -> None:
        """The producer waits from now on; not at all with `acks` 0."""
        if self.acks == 0:
            self._is_told = True
            self._waiter.set_result(ProduceResponse(-1, self.leader_epoch, -1))
        else:
            # A timer of the loop costs a tenth of an `asyncio.timeout`, and every send has one.
            self._timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self._time_out, timeout_ms)

    def tell(self) -> None:
        """It is as durable as was asked for."""
        if self._ends():
            appended = self.appended
            self._waiter.set_result(ProduceResponse(appended.base_offset, self.leader_epoch, appended.append_time_ms))

    def fail(self, error: BaseException) -> None:
        if self._ends():
            self._waiter.set_exception(error)

    def _ends(self) -> bool:
        """Whether the producer is still to be told."""
        if self._is_told:
            return False
        self._is_told = True
        if self._timer is not None:
            self._timer.cancel()
        return not self._waiter.done()

    def _time_out(self, timeout_ms: int) -> None:
        self.fail(unconfirmed(timeout_ms))


def unconfirmed(timeout_ms: int) -> ServerError:
    detail = f"The append was not confirmed within {timeout_ms} ms; it may still be stored."
    return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=OVERLOADED_RETRY_MS)
