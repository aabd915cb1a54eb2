"""A mirror as a process: its clients, its signals, what it says, and where Prometheus asks it."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from acklog import runtime
from acklog.client.async_client import AsyncClient
from acklog.command.failures import CommandError
from acklog.command.mirror_metrics import MetricsListener, prometheus_text
from acklog.command.mirror_view import figures_document, figures_views
from acklog.command.output import LiveView
from acklog.command.session import Server, Session
from acklog.consumer.stop_signals import stop_on_signals_of_loop
from acklog.mirror.client_end import ClientEnd
from acklog.mirror.mirror import Mirror, MirrorFencedError
from acklog.mirror.mirror_gap import MirrorGap
from acklog.mirror.mirror_settings import MirrorSettings
from acklog.mirror.topic_rules import TopicRules

REPORT_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """What is to be run. `metrics_port` None: Prometheus is not answered; 0: at any port that is free."""

    source: Server
    rules: TopicRules
    settings: MirrorSettings
    metrics_host: str
    metrics_port: int | None
    report_interval_s: float


class MirrorRun:
    """Runs until a signal, or until all is copied where that is wanted."""

    def __init__(self, session: Session, plan: MirrorPlan) -> None:
        self._session = session
        self._plan = plan
        self._mirror: Mirror | None = None
        self._told_stopped: dict[str, str] = {}
        self._told_problem = ""

    async def run(self) -> None:
        """Raises CommandError where it cannot be as wished, is fenced, or has left something out."""
        around, options = self._session.surroundings, self._session.options
        async with AsyncExitStack() as stack:
            source: AsyncClient = await stack.enter_async_context(
                around.connect_async(self._plan.source, options.timeout_s)
            )
            target = await stack.enter_async_context(self._session.async_client())
            self._mirror = mirror = Mirror(
                ClientEnd(source),
                ClientEnd(target),
                self._plan.rules,
                self._plan.settings,
                instance=runtime.unique_name(),
                now_ms=self._session.now_ms,
                chance=runtime.fraction,
                on_gap=self._tell_gap,
            )
            if self._plan.metrics_port is not None:
                stack.push_async_callback((await self._listen()).close)
            view = stack.enter_context(self._session.output.live())
            stack.enter_context(stop_on_signals_of_loop(asyncio.get_running_loop(), mirror.stop))
            await self._until_over(mirror, view)
        self._judge(mirror)

    async def _until_over(self, mirror: Mirror, view: LiveView) -> None:
        loop = asyncio.get_running_loop()
        running = loop.create_task(mirror.run())
        try:
            while not running.done():
                try:
                    await asyncio.wait_for(asyncio.shield(running), self._plan.report_interval_s)
                except TimeoutError:
                    self._report(mirror, view)
            self._report(mirror, view)
        except MirrorFencedError as error:
            raise CommandError(
                str(error), hint="Run one mirror of a pair of topics at a time; the one that began last goes on."
            ) from error
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _listen(self) -> MetricsListener:
        listener = MetricsListener(self._metrics)
        try:
            await listener.open(self._plan.metrics_host, self._plan.metrics_port or 0)
        except OSError as error:
            raise CommandError(f"metrics cannot be served: {error}", hint="Give another --metrics-port.") from error
        self._session.output.note(f"Metrics: http://{self._plan.metrics_host}:{listener.port}/metrics")
        return listener

    def _metrics(self) -> str:
        assert self._mirror is not None, "it is listened after the mirror was made"
        return prometheus_text(self._mirror.figures, self._plan.settings.name, self._session.now_ms())

    def _report(self, mirror: Mirror, view: LiveView) -> None:
        """The figures on a terminal or as JSON; elsewhere what has changed."""
        output, figures, now_ms = self._session.output, mirror.figures, self._session.now_ms()
        if output.is_json or output.is_terminal:
            view.update(figures_document(figures, now_ms), *figures_views(figures, now_ms))
        if figures.problem != self._told_problem:
            self._told_problem = figures.problem
            output.note(figures.problem or "It goes on.")
        for topic, why in figures.stopped.items():
            if self._told_stopped.get(topic) != why:
                self._told_stopped[topic] = why
                output.note(f"{topic} is not copied: {why}")

    def _tell_gap(self, gap: MirrorGap) -> None:
        self._session.output.note(f"Gap ({gap.kind}): {gap.topic}: {gap.detail}")

    def _judge(self, mirror: Mirror) -> None:
        stopped = mirror.figures.stopped
        if stopped:
            topic, why = next(iter(stopped.items()))
            more = f", and {len(stopped) - 1} more" if len(stopped) > 1 else ""
            raise CommandError(
                f"{topic} was not copied: {why}{more}",
                hint="Start it with --on-gap skip to go on behind what is missing, or name other topics.",
            )
