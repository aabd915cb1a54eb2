"""Sends an accumulator's batches: the part of a producer that waits. Everything here runs on one event loop."""

import asyncio
import logging
from collections.abc import Callable

from acklog.client.alarm import TIMER_SLACK_MS
from acklog.client.call import Request
from acklog.client.message_calls import read_stored
from acklog.client.retry import Backoff, is_outcome_unknown
from acklog.client.transport import Transport
from acklog.errors import AcklogError, BufferFull, CannotConnect, DeadlineExceeded, DeliveryFailed
from acklog.producer.accumulator import Accumulator
from acklog.producer.batch import Batch
from acklog.producer.encoding import RequestMaker, read_all_stored
from acklog.producer.producer_name import ProducerName
from acklog.producer.producer_settings import ProducerSettings

FAILURES_KEPT_MAX = 100
_logger = logging.getLogger("acklog.producer")


class Sender:
    """`on_room` is called when a batch has left the buffer. `chance` gives random numbers, 0 to 1. `name` is opened
    before the first request."""

    def __init__(
        self,
        accumulator: Accumulator,
        transport: Transport,
        requests: RequestMaker,
        settings: ProducerSettings,
        *,
        on_room: Callable[[], None],
        chance: Callable[[], float],
        name: ProducerName | None = None,
    ) -> None:
        self._accumulator = accumulator
        self._transport = transport
        self._requests = requests
        self._settings = settings
        self._backoff = Backoff(min_ms=settings.backoff_min_ms, max_ms=settings.backoff_max_ms)
        self._on_room = on_room
        self._chance = chance
        self._name = name
        self._deliveries: dict[asyncio.Task[None], Batch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._failed: list[Batch] = []
        self._forgotten_failures = 0
        self._has_reached_server = False
        self._unreachable_since_s: float | None = None

    def pump(self) -> None:
        """Send what is due, and come back when the next is."""
        loop = asyncio.get_running_loop()
        for batch in self._accumulator.take_due(loop.time() * 1000 + TIMER_SLACK_MS):
            task = loop.create_task(self._deliver(batch))
            self._deliveries[task] = batch
            task.add_done_callback(self._delivered)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_ms = self._accumulator.next_due_ms()
        if due_ms is not None:
            self._timer = loop.call_at(due_ms / 1000, self.pump)

    async def flush(self, timeout_s: float | None) -> None:
        """Wait until all that was handed over is decided. Raises DeadlineExceeded, and DeliveryFailed for failures
        that nobody has asked for."""
        batches = self._accumulator.seal_all()
        self.pump()
        if batches and not await _all_done(batches, timeout_s):
            count = sum(len(batch.parts) for batch in batches)
            raise DeadlineExceeded(f"{count} messages were not confirmed within {timeout_s:g} s; they go on")
        self._raise_failures()

    async def close(self) -> None:
        """Send what is there, for `close_timeout_ms`; what is left then has failed. Raises DeliveryFailed."""
        self._accumulator.close()
        batches = self._accumulator.seal_all()
        self.pump()
        await _all_done(batches, self._settings.close_timeout_ms / 1000)
        await self._give_up()
        self._raise_failures()

    async def _give_up(self) -> None:
        detail = f"the producer was closed, and {self._settings.close_timeout_ms} ms did not do to deliver the message"
        for batch in self._accumulator.take_unsent():
            batch.fail_rest(DeadlineExceeded(f"{detail}; it was not sent"))
            self._finish(batch)
        for task, batch in list(self._deliveries.items()):
            task.cancel()
            batch.fail_rest(DeadlineExceeded(f"{detail}; it may be stored all the same"))
        if self._deliveries:
            await asyncio.gather(*self._deliveries, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()

    async def _deliver(self, batch: Batch) -> None:
        request: Request | None = None
        now_s = asyncio.get_running_loop().time
        deadline_s = batch.deadline_ms / 1000
        last_error: AcklogError | None = None
        attempt = 0
        is_unknown = False
        while (remaining_s := deadline_s - now_s()) > 0:
            attempt += 1
            try:
                request = request or await self._make(batch, remaining_s)
            except AcklogError as error:
                if not error.retriable:
                    batch.fail_rest(error)
                    return
                last_error = error
            else:
                last_error = await self._attempt(request, batch, remaining_s)
                is_unknown = is_unknown or (last_error is not None and is_outcome_unknown(last_error))
            if last_error is None:
                return
            if self._has_no_server(last_error):
                batch.fail_rest(last_error)
                return
            pause_s = self._backoff.delay_ms(attempt, chance=self._chance(), error=last_error) / 1000
            await asyncio.sleep(min(pause_s, max(0.0, deadline_s - now_s())))
        batch.fail_rest(_too_late(last_error, self._settings.delivery_timeout_ms, is_unknown=is_unknown))

    def _has_no_server(self, error: AcklogError) -> bool:
        """Whether nothing was ever there to send to, for so long that it is likelier a mistake than a restart."""
        self._has_reached_server = self._has_reached_server or not isinstance(error, CannotConnect)
        if self._has_reached_server:
            return False
        now_s = asyncio.get_running_loop().time()
        if self._unreachable_since_s is None:
            self._unreachable_since_s = now_s
            _logger.warning("nothing can be sent yet, trying again: %s", error)
        return now_s - self._unreachable_since_s >= self._settings.first_contact_timeout_ms / 1000

    async def _make(self, batch: Batch, remaining_s: float) -> Request:
        """Raises AcklogError: the producer's name could not be opened."""
        if self._name is None:
            return self._requests.request_of(batch)
        timeout_s = min(self._settings.request_timeout_ms / 1000, remaining_s)
        return self._requests.request_of(batch, await self._name.open(timeout_s=timeout_s))

    async def _attempt(self, request: Request, batch: Batch, remaining_s: float) -> AcklogError | None:
        """Why the batch, or a part of it, has to be tried again; None when all of it is decided."""
        timeout_s = min(self._settings.request_timeout_ms / 1000, remaining_s)
        try:
            response = await self._transport.perform(request, timeout_s=timeout_s)
            self._has_reached_server = True
            if response.status == 207 or response.status >= 300:
                return batch.take_results(read_stored(response, len(batch.parts)))
            batch.take_successes(read_all_stored(response, len(batch.parts)))
        except AcklogError as error:
            if error.retriable:
                return error
            batch.fail_rest(error)
        return None

    def _delivered(self, task: asyncio.Task[None]) -> None:
        batch = self._deliveries.pop(task)
        if not task.cancelled() and task.exception() is not None:
            _logger.error("a batch could not be sent", exc_info=task.exception())
            batch.fail_rest(AcklogError(f"the producer failed: {task.exception()!r}", code="PRODUCER_FAILED"))
        self._finish(batch)
        self.pump()

    def _finish(self, batch: Batch) -> None:
        self._accumulator.release(batch)
        batch.finish()
        if batch.has_failures:
            self._keep_failed(batch)
        self._on_room()

    def _keep_failed(self, batch: Batch) -> None:
        """Failures wait for the next flush, which raises those that nobody has asked for by then."""
        self._failed.append(batch)
        if len(self._failed) > FAILURES_KEPT_MAX:
            self._forgotten_failures += len(self._failed.pop(0).untaken_failures())

    def _raise_failures(self) -> None:
        batches, self._failed = self._failed, []
        count, self._forgotten_failures = self._forgotten_failures, 0
        failures: list[AcklogError] = []
        for batch in batches:
            untaken = batch.untaken_failures()
            count += len(untaken)
            failures += untaken[: FAILURES_KEPT_MAX - len(failures)]
        if count:
            why = failures[0] if failures else "their errors were not kept"
            detail = f"{count} messages were not delivered; the first: {why}"
            raise DeliveryFailed(detail, count=count, failures=failures)


async def _all_done(batches: list[Batch], timeout_s: float | None) -> bool:
    """Whether all of them are decided in time."""
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[None]] = []
    for batch in batches:
        future = loop.create_future()
        batch.when_done(_setter(future))
        futures.append(future)
    try:
        await asyncio.wait_for(asyncio.gather(*futures), timeout_s)
    except TimeoutError:
        return False
    return True


def _setter(future: "asyncio.Future[None]") -> Callable[[], None]:
    return lambda: None if future.done() else future.set_result(None)


def buffer_full(buffered_bytes: int, timeout_ms: int) -> BufferFull:
    detail = f"{buffered_bytes} bytes wait to be delivered, and there was no room for {timeout_ms} ms"
    return BufferFull(f"{detail}; the message was not taken")


def _too_late(error: AcklogError | None, timeout_ms: int, *, is_unknown: bool) -> DeadlineExceeded:
    if error is None:
        return DeadlineExceeded(f"the message was not sent within {timeout_ms} ms: those before it took too long")
    fate = "it may be stored all the same" if is_unknown else "it is not stored"
    return DeadlineExceeded(f"the message was not delivered within {timeout_ms} ms; {fate}; last failure: {error}")
