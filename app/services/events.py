"""Watching the cluster: what is told to each watcher, and when."""

import asyncio
from typing import NoReturn

from app.auth.principal import Principal
from app.calls.events import EventsCommand
from app.calls.streams import Say
from app.events.audience import Audience
from app.events.event_text import COMMENT
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.stream_figures import EVENTS
from app.services.event_collector import EventCollector
from app.services.log_ends import LogEnds
from app.services.stream_places import StreamPlaces
from cluster.model.action import Action

HEARTBEAT_MS = 15_000
"""A stream that says nothing else says so, in comments."""


class EventService:
    """`places` are those of watchers."""

    def __init__(self, gateway: Gateway, ends: LogEnds, metrics: Metrics) -> None:
        self._clock = gateway.clock
        self._collector = EventCollector(gateway, ends, metrics)
        self.places = StreamPlaces(
            lambda: gateway.settings.events_watchers_max,
            setting="--events-watchers-max",
            stream=EVENTS,
            figures=metrics.streams,
        )
        gateway.shutdown.at_end(self._collector.close)

    def admit(self, principal: Principal) -> None:
        """Raises ServerError FORBIDDEN."""
        principal.require_somewhere(Action.LOOK)

    async def watch(self, command: EventsCommand, principal: Principal, say: Say) -> NoReturn:
        """Say what is and what changes, until it is cancelled. Between two events a watcher is no more than a place."""
        audience = Audience(principal, command.kinds, command.topics, command.groups)
        self._collector.enter()
        try:
            survey = await self._collector.survey()
            reader = survey.pages.reader(audience, command.event_id)
            said_ms = self._clock.monotonic_ms()
            while True:
                page = survey.pages.next(reader)
                now_ms = self._clock.monotonic_ms()
                if page.text:
                    said_ms = now_ms
                    await say(page.text)
                elif now_ms - said_ms >= HEARTBEAT_MS:
                    said_ms = now_ms
                    await say(COMMENT)
                if page.is_last or reader.snapshot_until is None:
                    await self._collector.news()
                else:
                    await asyncio.sleep(0)  # a client that takes everything at once must not have the loop to itself
        finally:
            self._collector.leave()
