"""The name that a producer sends under, so that of two that have it only the last sends."""

import asyncio

from acklog.client.caller import Caller
from acklog.client.producer_calls import OpenedProducer, open_producer


class ProducerName:
    """Opened once, before the first request. It is never opened again by itself: who was fenced stays so."""

    def __init__(self, topic: str, name: str, caller: Caller, *, instance: str) -> None:
        self._topic = topic
        self._name = name
        self._caller = caller
        self._instance = instance
        self._opened: OpenedProducer | None = None
        self._one_opening = asyncio.Lock()

    @property
    def epoch(self) -> int | None:
        """None: it is not open yet."""
        return None if self._opened is None else self._opened.epoch

    async def open(self, *, timeout_s: float | None = None) -> OpenedProducer:
        """Raises AcklogError; then the next call tries again."""
        async with self._one_opening:
            if self._opened is None:
                call = open_producer(self._topic, self._name, instance=self._instance)
                self._opened = await self._caller.perform(call, timeout_s=timeout_s)
            return self._opened
