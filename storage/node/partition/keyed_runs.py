"""Runs of messages with idempotency keys, as their partition's leader answers for them."""

import asyncio

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.produce.dedup_window import DedupWindow, check_runs
from storage.replication.leadership import Leadership
from storage.rpc.messages import KeyedResult, KnownKeysRequest


class KeyedRuns:
    """The window of keys, with whoever waits for the outcome of an append that is under way."""

    def __init__(self, window: DedupWindow, leadership: Leadership, clock: Clock) -> None:
        self._window = window
        self._leadership = leadership
        self._clock = clock
        self._waiters: dict[int, asyncio.Future[None]] = {}

    @property
    def size_bytes(self) -> int:
        """Memory that the window takes."""
        return self._window.size_bytes

    async def known(self, keys: list[DedupKey], count: int, timeout_ms: int) -> list[KeyedResult]:
        """What the window knows of the keys of a batch with `count` records, after those that are being written have
        got their outcome. Raises ServerError INVALID_FIELD, and TimeoutError."""
        try:
            check_runs(keys, count)
            verdict = self._window.check(keys, self._clock.monotonic_ms())
        except ValueError as error:
            raise ServerError(ProblemCode.INVALID_FIELD, f"{error}.", field="batch") from error
        if verdict.pending:
            async with asyncio.timeout(timeout_ms / 1000):
                while verdict.pending:
                    await self._wait(verdict.pending[0])
                    verdict = self._window.check(keys, self._clock.monotonic_ms())
        return verdict.known

    async def known_or_new(self, request: KnownKeysRequest) -> list[KeyedResult]:
        """As `known`, for keys of which those that are not known are taken for new elsewhere. Raises ServerError
        INVALID_FIELD, TIMED_OUT, DEDUP_WINDOW_DAMAGED."""
        try:
            known = await self.known(request.keys, request.count, request.timeout_ms)
        except TimeoutError:
            detail = f"Messages with the same keys were still being written after {request.timeout_ms} ms."
            raise ServerError(ProblemCode.TIMED_OUT, detail) from None
        if len(known) < len(request.keys):
            self._window.window_ms = self._leadership.topic.config.dedup_window_ms
            self._window.check_complete(self._clock.monotonic_ms())
        return known

    def reserve(self, keys: list[DedupKey]) -> int:
        """The keys, which are not known, are being written; the token by which they are stored or released. Raises
        ServerError DEDUP_WINDOW_FULL, DEDUP_WINDOW_DAMAGED."""
        self._window.window_ms = self._leadership.topic.config.dedup_window_ms
        return self._window.reserve(keys, self._clock.monotonic_ms())

    def stored(self, token: int, base_offset: int, leader_epoch: int, log: int) -> None:
        """They are committed in the log of this number, and remembered for as long as the topic says now."""
        self._window.window_ms = self._leadership.topic.config.dedup_window_ms
        self._window.commit(token, base_offset, leader_epoch, self._clock.monotonic_ms(), log=log)
        self._wake(token)

    def release(self, token: int | None) -> None:
        """They are not stored, or nobody will ever know here."""
        if token is not None:
            self._window.abort(token)
            self._wake(token)

    async def _wait(self, token: int) -> None:
        future = self._waiters.get(token)
        if future is None:
            future = self._waiters[token] = asyncio.get_running_loop().create_future()
        await asyncio.shield(future)

    def _wake(self, token: int) -> None:
        future = self._waiters.pop(token, None)
        if future is not None:
            future.set_result(None)
