"""The same question to many partitions, a bounded number of them at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from cluster.errors import ServerError

AT_ONCE_MAX = 64
_Place = TypeVar("_Place")
_Answer = TypeVar("_Answer")


async def ask_each(
    places: Sequence[_Place], ask: Callable[[_Place], Awaitable[_Answer]]
) -> list[_Answer | ServerError]:
    """An answer per place, in order, or why there is none."""

    async def ask_one(place: _Place) -> _Answer | ServerError:
        try:
            return await ask(place)
        except ServerError as error:
            return error.with_traceback(None)  # kept: with its frames it would keep itself

    answers: list[_Answer | ServerError] = []
    for start in range(0, len(places), AT_ONCE_MAX):
        answers += await asyncio.gather(*[ask_one(place) for place in places[start : start + AT_ONCE_MAX]])
    return answers
