"""Performs calls: with a deadline over all tries, and pauses between them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acklog.client.call import Bodies, Call, Request, Response, Result, problem_of, raise_for_problem
from acklog.client.retry import Backoff, may_repeat
from acklog.client.transport import StreamAnswer, StreamTransport, Transport
from acklog.errors import AcklogError, ClientClosed, InvalidArgument, UnexpectedAnswer
from acklog.messages import OutgoingMessage

if TYPE_CHECKING:
    from acklog.body_encryption.body_encryption import BodyEncryption


class Caller:
    """`chance` gives random numbers, 0 to 1. `retries_max` is beside the first try. With `body_encryption` bodies come
    out of calls decrypted."""

    def __init__(
        self,
        transport: Transport,
        *,
        timeout_s: float,
        retries_max: int,
        backoff: Backoff,
        chance: Callable[[], float],
        body_encryption: "BodyEncryption | None" = None,
    ) -> None:
        self.transport = transport
        self.body_encryption = body_encryption
        self.backoff = backoff
        self.chance = chance
        self._timeout_s = timeout_s
        self._retries_max = retries_max
        self._is_closed = False

    async def perform(
        self, call: Call[Result], *, retries_max: int | None = None, timeout_s: float | None = None
    ) -> Result:
        """The call's result; the limits are the caller's own unless they are given. Raises AcklogError."""
        result = (await self._outcome(call, retries_max, timeout_s))()
        if self.body_encryption is not None:
            await self.decrypt(call.bodies(result))
        return result

    async def decrypt(self, bodies: Bodies) -> None:
        """Put in their place what was encrypted, where this client has keys. One that cannot be read raises why when
        it is."""
        if self.body_encryption is not None and bodies:
            # On another thread: a key may have to be asked for, and an answer may have 16 MiB.
            await asyncio.to_thread(self.body_encryption.decrypt_all, bodies)

    async def open_stream(self, request: Request) -> StreamAnswer:
        """One try, which may take as long as a call. Raises AcklogError: also the problem of an answer that is no
        stream."""
        if self._is_closed:
            raise ClientClosed("the client is closed")
        if not isinstance(self.transport, StreamTransport):
            raise InvalidArgument("the client's transport carries no streams", field="transport")
        answer = await self.transport.open_stream(request, timeout_s=self._timeout_s)
        if not isinstance(answer, Response):
            return answer
        raise_for_problem(answer)
        raise UnexpectedAnswer("the answer is no stream of events", status=answer.status)

    async def encrypted(self, topic: str, messages: Sequence[OutgoingMessage]) -> Sequence[OutgoingMessage]:
        """The messages as they are to be sent. Raises InvalidArgument, KeyUnavailable."""
        if self.body_encryption is None:
            return messages
        return await asyncio.to_thread(self.body_encryption.encrypt_all, topic, messages)

    async def make_ready_to_encrypt(self) -> None:
        """Ask for a key, where the next message needs another one. Raises KeyUnavailable."""
        if self.body_encryption is not None and not self.body_encryption.is_ready():
            await asyncio.to_thread(self.body_encryption.make_ready)

    async def _outcome(
        self, call: Call[Result], retries_max: int | None, timeout_s: float | None
    ) -> Callable[[], Result]:
        tries_max = 1 + (self._retries_max if retries_max is None else retries_max)
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + (self._timeout_s if timeout_s is None else timeout_s) + call.wait_s
        attempt = 0
        while True:
            attempt += 1
            error, result = await self._attempt(call, max(0.001, deadline_s - now_s()))
            if error is None:
                return result
            pause_s = self.backoff.delay_ms(attempt, chance=self.chance(), error=error) / 1000
            is_last = attempt >= tries_max or now_s() + pause_s >= deadline_s
            if is_last or not may_repeat(error, is_repeatable=call.is_repeatable):
                return result
            await asyncio.sleep(pause_s)

    async def _attempt(self, call: Call[Result], timeout_s: float) -> tuple[AcklogError | None, Callable[[], Result]]:
        """Why the call failed, if it did, and how to get at its result or raise. (A batch that failed as a whole is
        an error for the retry and a list of results for the caller.)"""
        if self._is_closed:
            raise ClientClosed("the client is closed")
        try:
            response = await self.transport.perform(call.request, timeout_s=timeout_s)
        except AcklogError as error:
            failure = error
        else:
            return problem_of(response), lambda: call.read(response)

        def fail() -> Result:
            raise failure

        return failure, fail

    async def close(self) -> None:
        self._is_closed = True
        await self.transport.close()
