"""Certificates change without a restart, and say in time when they end.

The files are read every few seconds and compared with what is in use: they may come from a mount that tells nobody of a
change. A pair that does not fit together, as in the middle of a change, or that nobody would believe, leaves what there
was, and is tried again.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from acklog.wire.certificate_end import CertificateEnd, days_left, end_of
from app.processes.certificate_time import read_own
from app.processes.reloads import InThread
from cluster.ports.clock import Clock
from cluster.tls.tls_files import TlsFilesError

_log = structlog.get_logger(__name__)


class Refreshable(Protocol):
    def refresh(self) -> bool:
        """Whether the files held something new. Blocks. Raises TlsFilesError."""
        ...


@dataclass(slots=True, eq=False)
class Held:
    """A certificate that the process has, what it is for, and the contexts that are made with it."""

    use: str
    path: str
    contexts: Sequence[Refreshable]
    not_after_ms: int | None = None
    failure: str | None = None
    failures: int = 0
    end: CertificateEnd = CertificateEnd.FAR


class CertificateWatch(Collector):
    """For one event loop: `start` it there, and `close` it there. `look` is also for whoever is told to reload."""

    def __init__(self, held: Sequence[Held], *, clock: Clock, in_thread: InThread, interval_ms: int) -> None:
        """Reads the certificates, which blocks."""
        self._held = held
        self._clock = clock
        self._in_thread = in_thread
        self._interval_ms = interval_ms
        self._watching: asyncio.Task[None] | None = None
        for each in held:
            each.not_after_ms = _not_after_ms(each)

    def start(self) -> None:
        self._tell_ends()
        if self._held:
            self._watching = asyncio.create_task(self._watch(), name="certificates")

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(self._interval_ms)
            await self.look()

    async def look(self) -> None:
        """Take what is new in the files, and say what ends soon."""
        for each in self._held:
            try:
                is_new = await self._in_thread(partial(_refresh, each))
            except TlsFilesError as error:
                each.failures += 1
                if str(error) != each.failure:  # said once, however often it is tried
                    each.failure = str(error)
                    _log.error("certificate_not_reloaded", use=each.use, reason=str(error), goes_on_with="the old one")
                continue
            each.failure = None
            if is_new:
                _log.info("certificate_reloaded", use=each.use, file=each.path)
        self._tell_ends()

    def _tell_ends(self) -> None:
        """Once for each change of what there is to be said."""
        now_ms = self._clock.now_ms()
        for each in self._held:
            if each.not_after_ms is None:
                continue
            end = end_of(each.not_after_ms, now_ms=now_ms)
            if end is not each.end and end is not CertificateEnd.FAR:
                days = days_left(each.not_after_ms, now_ms=now_ms)
                _log.warning("certificate_ends", use=each.use, file=each.path, end=end.value, days_left=days)
            each.end = end

    def describe(self) -> Iterable[Metric]:
        return self._families()

    def collect(self) -> Iterable[Metric]:
        ends, failures = self._families()
        for each in self._held:
            if each.not_after_ms is not None:
                ends.add_metric((each.use,), each.not_after_ms / 1000)
            failures.add_metric((each.use,), each.failures)
        return ends, failures

    def _families(self) -> tuple[GaugeMetricFamily, CounterMetricFamily]:
        return (
            GaugeMetricFamily(
                "acklog_tls_certificate_not_after_timestamp_seconds",
                "When the certificate in use ends: of http, or between peers",
                labels=["use"],
            ),
            CounterMetricFamily(
                "acklog_tls_reload_failures",
                "Looks at the files of a certificate that found something which cannot be used",
                labels=["use"],
            ),
        )


def _refresh(held: Held) -> bool:
    """On another thread."""
    is_new = [each.refresh() for each in held.contexts]
    if any(is_new):
        held.not_after_ms = _not_after_ms(held)
    return any(is_new)


def _not_after_ms(held: Held) -> int | None:
    """None for one that this cannot read, which only costs the warning."""
    certificate = read_own(held.path)
    return None if certificate is None else certificate.not_after_ms
