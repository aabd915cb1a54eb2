"""One stream over as many connections as it takes: it goes on behind the last event that it has heard."""

import asyncio
import logging
from collections import deque
from typing import Generic

import msgspec

from acklog.client.caller import Caller
from acklog.client.transport import StreamAnswer
from acklog.errors import AcklogError, ConnectionFailed, Unauthenticated
from acklog.streams.comeback import Comeback
from acklog.streams.event_parser import EventParser, ServerSentEvent
from acklog.streams.stream_reading import Item, Reading
from acklog.streams.stream_settings import StreamSettings

TOKEN_PAUSE_S = 1.0
"""Behind an end for the token's sake: a token that is renewed is looked for once a second."""
_logger = logging.getLogger("acklog.streams")


class _End(msgspec.Struct):
    reason: str = ""


_ends = msgspec.json.Decoder(_End)


class EventStream(Generic[Item]):
    """Pulled: nothing is read while nobody asks, so what is held is one piece of the connection and one event. On one
    event loop, but for `take`, which may be called by another thread. `cursor` is the place behind what was taken."""

    def __init__(self, caller: Caller, reading: Reading[Item], settings: StreamSettings) -> None:
        self.cursor = reading.question.cursor
        self.is_closed = False
        self._ready: deque[tuple[str, object | None]] = deque()
        self._caller = caller
        self._reading = reading
        self._settings = settings
        self._comeback: Comeback | None = None
        self._last_id = reading.question.cursor
        self._parser = EventParser()
        self._answer: StreamAnswer | None = None
        self._heard: list[ServerSentEvent] = []
        self._not_before_ms = 0.0
        self._failure: AcklogError | None = None
        self._filling: asyncio.Task[None] | None = None

    def take(self) -> Item | None:
        """The next item, where one is there. What is no item is told on the way, and may raise what it likes."""
        while self._ready and not self.is_closed:
            cursor, found = self._ready.popleft()
            item = None if found is None else self._reading.hand_out(found)
            self.cursor = cursor or self.cursor
            if item is not None:
                return item
        return None

    async def fill(self) -> None:
        """Return when there is something to take, or the stream was closed. One at a time; whoever is cancelled
        meanwhile loses nothing. Raises AcklogError: what ends the stream, each time."""
        if self._ready or self.is_closed:
            return
        filling = self._filling = asyncio.get_running_loop().create_task(self._fill())
        try:
            await filling
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.is_closed or (task is not None and task.cancelling()):
                raise
        finally:
            self._filling = None

    def close(self) -> None:
        """Hang up. Whoever waits in `fill` returns."""
        self.is_closed = True
        self._hang_up()
        if self._filling is not None:
            self._filling.cancel()

    async def _fill(self) -> None:
        while not self._ready:
            if not self._heard:
                await self._hear()
            found = [(event.event_id, self._reading.decode(event)) for event in self._heard]
            if self._caller.body_encryption is not None:
                await self._caller.decrypt([body for _, each in found for body in self._reading.bodies(each)])
            self._heard = []
            self._ready.extend(found)

    async def _hear(self) -> None:
        """The next piece that an event ends in, by whichever connection."""
        if self._failure is not None:
            raise self._failure
        try:
            if self._answer is None:
                await self._open()
            else:
                await self._read(self._answer)
        except AcklogError as error:
            self._broke(error)

    async def _open(self) -> None:
        """Raises AcklogError."""
        if self._comeback is None:
            self._comeback = Comeback(self._settings, now_ms=_now_ms())
        pause_ms = self._not_before_ms - _now_ms()
        if pause_ms > 0:
            await asyncio.sleep(pause_ms / 1000)
        self._answer = await self._caller.open_stream(self._reading.question.request(self._last_id))
        self._parser = EventParser(self._last_id)
        self._comeback.begun(_now_ms())

    async def _read(self, answer: StreamAnswer) -> None:
        """Raises AcklogError."""
        silence_s = self._settings.silence_timeout_ms / 1000
        try:
            async with asyncio.timeout(silence_s):
                piece = await answer.read()
        except TimeoutError:
            raise ConnectionFailed(f"nothing has come by the stream for {silence_s:g} s, not even a comment") from None
        if not piece:
            raise ConnectionFailed("the stream broke off")
        for event in self._parser.feed(piece):
            if event.name == "end":
                self._heard_end(event)
                return
            self._heard.append(event)
        self._last_id = self._parser.last_id

    def _heard_end(self, event: ServerSentEvent) -> None:
        """Raises AcklogError: what is to be waited for. What was heard before is handed out all the same."""
        try:
            reason = _ends.decode(event.data).reason
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            reason = ""
        question = self._reading.question
        self._last_id = "" if reason in question.begins_anew_after else event.event_id
        self._failure = self._reading.failure(reason)
        detail = f"the server has ended the stream: {reason or 'it does not say why'}"
        if self._failure is not None:
            raise self._failure
        if reason == "token":
            raise Unauthenticated(detail, retriable=True, retry_after_s=TOKEN_PAUSE_S)
        raise ConnectionFailed(detail)

    def _broke(self, error: AcklogError) -> None:
        """Come again later, or not at all: then `error` is raised with the next call."""
        self._hang_up()
        assert self._comeback is not None, "a connection was asked for"
        now_ms = _now_ms()
        try:
            pause_ms = self._comeback.after(error, now_ms=now_ms, chance=self._caller.chance())
        except AcklogError:
            self._failure = error
            return
        self._not_before_ms = now_ms + pause_ms
        log = _logger.warning if self._comeback.failures == 1 else _logger.debug
        log("%s: asked for again in %d ms: %s", self._reading.question.target, pause_ms, error)

    def _hang_up(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close()


def _now_ms() -> float:
    return asyncio.get_running_loop().time() * 1000
