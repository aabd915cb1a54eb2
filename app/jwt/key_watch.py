"""Looks for the issuer's keys: at the start, as they grow old, and when a token names one that is not known."""

import asyncio
from collections.abc import Callable

import structlog

from app.jwt.hearers import Hearers
from app.jwt.key_ring import KeyRing
from app.jwt.key_set import KeySet, KeySetError, parse_key_set
from app.jwt.key_source import KeySource, KeySourceError
from cluster.ports.clock import Clock

_log = structlog.get_logger(__name__)


class KeyWatch:
    """For one event loop: `start` it there, and `close` it there."""

    def __init__(self, ring: KeyRing, source: KeySource, *, issuer: str, clock: Clock, timeout_ms: int) -> None:
        """`timeout_ms` bounds a look as a whole."""
        self._ring = ring
        self._source = source
        self._issuer = issuer
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._watching: asyncio.Task[None] | None = None
        self._extra: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._hearers = Hearers()

    async def start(self) -> None:
        """After a first look. An issuer that does not answer keeps nobody from starting: until it does, its tokens are
        refused for the time being."""
        await self._look()
        self._watching = asyncio.create_task(self._watch(), name="issuer's keys")

    async def close(self) -> None:
        tasks = [task for task in (self._watching, self._extra) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def keys(self) -> KeySet | None:
        """Those that are good now."""
        return self._ring.keys_at(self._clock.monotonic_ms())

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it soon after the issuer has other keys; returns how to stop that."""
        return self._hearers.add(listener)

    def wait_ms(self, key_id: str | None) -> int | None:
        """Somebody shows a token of a key that is not known: when to come again, or None, as `KeyRing.wait_ms` has it.
        A look begins unless the last one began a moment ago."""
        now_ms = self._clock.monotonic_ms()
        wait_ms = self._ring.wait_ms(key_id, now_ms)
        is_begun = self._extra is not None and not self._extra.done()
        if self._ring.may_look(now_ms) and not is_begun:
            self._extra = asyncio.create_task(self._look(), name="a look for a key")
        return wait_ms

    async def _watch(self) -> None:
        while True:
            pause_ms = self._ring.next_look_ms(self._clock.monotonic_ms())
            if pause_ms > 0:
                await self._clock.sleep(pause_ms)
            else:
                await self._look()

    async def _look(self) -> None:
        if self._ring.is_looking:
            return
        self._ring.began(self._clock.monotonic_ms())
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                keys = parse_key_set(await self._source())
        except (KeySourceError, KeySetError) as error:
            self._note_failure(str(error))
        except TimeoutError:
            self._note_failure(f"it does not answer within {self._timeout_ms} ms")
        else:
            self._take(keys)

    def _take(self, keys: KeySet) -> None:
        self._failure = None
        if self._ring.found(keys, self._clock.monotonic_ms()):
            self._say_of(keys)
            self._hearers.tell()

    def _say_of(self, keys: KeySet) -> None:
        if keys:
            _log.info("issuer_keys_read", issuer=self._issuer, keys=len(keys))
        else:
            _log.error("issuer_has_no_keys", issuer=self._issuer)

    def _note_failure(self, why: str) -> None:
        self._ring.failed()
        if why != self._failure:  # said once, however often it is tried
            self._failure = why
            left_ms = self._ring.left_ms(self._clock.monotonic_ms())
            _log.error("issuer_keys_not_read", issuer=self._issuer, reason=why, known_ones_are_good_for_ms=left_ms)
