"""Learns in each interval what has changed in the cluster, while somebody watches; one a gateway."""

import asyncio

import structlog

from app.events.look_turns import Place
from app.events.survey import Survey
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.services.fan_out import ask_each
from app.services.log_ends import LogEnds
from cluster.errors import ServerError
from storage.rpc.messages import PositionsResponse

UNWATCHED_MS = 30_000
"""How long it goes on when nobody watches any more: who comes again meanwhile goes on where it was."""
LEADERS_PATIENCE_MS = 1_000
"""How long the leaders have for all questions of one interval, at least."""
CATALOGUE_REST = 10
"""The catalogue is looked through at most every so many times of what that takes."""

logger = structlog.get_logger(__name__)


class EventCollector:
    """`enter` and `leave` say that somebody watches, or not any more."""

    def __init__(self, gateway: Gateway, ends: LogEnds, metrics: Metrics) -> None:
        self._gateway = gateway
        self._clock = gateway.clock
        self._ends = ends
        self._metrics = metrics
        self._watchers = 0
        self._unwatched_since_ms = 0
        self._survey: Survey | None = None
        self._is_stale = True
        self._catalogue_rests_until_ms = 0
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def enter(self) -> None:
        self._watchers += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._collect(), name="event collector")

    def leave(self) -> None:
        self._watchers -= 1
        self._unwatched_since_ms = self._clock.monotonic_ms()

    async def survey(self) -> Survey:
        """Once all was looked at for the first time; the same for as long as somebody watches."""
        while self._survey is None:
            await self._news.wait()
        return self._survey

    async def news(self) -> None:
        """Return when the next interval has ended."""
        await self._news.wait()

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _collect(self) -> None:
        survey = Survey(self._gateway.metadata, run=f"{self._gateway.entropy.bits64():016x}")
        self._is_stale, self._catalogue_rests_until_ms = True, 0
        stop = self._gateway.metadata.subscribe(self._note_change)
        try:
            while True:
                began_ms = self._clock.monotonic_ms()
                try:
                    await self._round(survey)
                except Exception:  # watchers see that nothing comes; the next round may do better
                    logger.exception("event_round_failed")
                else:
                    self._survey = survey
                news, self._news = self._news, asyncio.Event()
                news.set()
                if not self._watchers and began_ms - self._unwatched_since_ms >= UNWATCHED_MS:
                    return
                interval_ms = self._gateway.settings.events_interval_ms
                took_ms = self._clock.monotonic_ms() - began_ms
                await self._clock.sleep(max(interval_ms // 10, interval_ms - took_ms))
        finally:
            stop()
            self._survey = self._task = None

    async def _round(self, survey: Survey) -> None:
        began_ms = self._clock.monotonic_ms()
        if self._is_stale and began_ms >= self._catalogue_rests_until_ms:
            self._is_stale = False
            for _ in survey.catalogue_steps():
                await asyncio.sleep(0)
            now_ms = self._clock.monotonic_ms()
            self._catalogue_rests_until_ms = now_ms + CATALOGUE_REST * (now_ms - began_ms)
        questions = survey.questions(began_ms)
        patience_ms = max(LEADERS_PATIENCE_MS, self._gateway.settings.events_interval_ms)
        deadline_ms = self._clock.monotonic_ms() + patience_ms

        async def ask(question: tuple[Place, str]) -> PositionsResponse:
            (topic_id, partition), group_id = question
            return await self._ends.positions(topic_id, partition, deadline_ms=deadline_ms, group_id=group_id)

        answers = await ask_each(questions, ask)
        now_ms = self._clock.monotonic_ms()
        learnt = [
            (place, group_id, answer)
            for (place, group_id), answer in zip(questions, answers, strict=True)
            if not isinstance(answer, ServerError)
        ]
        survey.learn(learnt, at_ms=now_ms)
        survey.count(self._metrics.done_so_far(), at_ms=now_ms)
        survey.tell(now_ms=self._clock.now_ms(), interval_ms=self._gateway.settings.events_interval_ms)

    def _note_change(self) -> None:
        self._is_stale = True
