"""Patience of a call that goes a short way: while it waits it is known whether anybody still wants its answer.

Nothing watches until it waits, and it waits in its own task: what gives up cancels just that wait.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from app.gateway.shutdown import Shutdown
from app.http.exchange.caller_standing import RequestStanding
from app.http.protocol.short_way import Answer

_Result = TypeVar("_Result")


class AnswerWatch:
    """`app.calls.patience.Patience`. `standing_of` says whether who asks is still let in; it is asked when it
    waits."""

    def __init__(self, answer: Answer, shutdown: Shutdown, standing_of: Callable[[], RequestStanding]) -> None:
        self._answer = answer
        self._shutdown = shutdown
        self._standing_of = standing_of
        self._task: asyncio.Task[Any] | None = None
        self._refusal: Exception | None = None
        self._has_given_up = False

    @property
    def is_gone(self) -> bool:
        return self._answer.is_gone

    async def wait(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """What `work` returns; None when it was given up because the client is gone or the server stops. Raises what
        the standing refuses with where who asks is not let in any more."""
        self._has_given_up = False
        task = asyncio.current_task()
        assert task is not None, "a call is served in a task"
        cancels_before = task.cancelling()
        self._answer.on_gone(self._give_up)
        stops = self._shutdown.subscribe(self._give_up), self._standing_of().watch(self._refuse)
        if self._answer.is_gone or self._shutdown.has_begun:
            self._give_up()
        try:
            if self._has_given_up:
                # Not begun: a task that cancels itself and then never waits is cancelled later on, while it answers.
                work.close()
                self._raise_refusal()
                return None
            self._task = task
            return await work
        except asyncio.CancelledError:
            if not self._has_given_up or task.cancelling() > cancels_before + 1:
                raise
            self._raise_refusal()
            return None
        finally:
            self._answer.on_gone(None)
            for stop in stops:
                stop()
            if self._task is not None and self._has_given_up:
                task.uncancel()
            self._task = None

    def _raise_refusal(self) -> None:
        if self._refusal is not None:
            raise self._refusal from None

    def _refuse(self, error: Exception) -> None:
        self._refusal = error
        self._give_up()

    def _give_up(self) -> None:
        if not self._has_given_up:
            self._has_given_up = True
            if self._task is not None:
                self._task.cancel()
