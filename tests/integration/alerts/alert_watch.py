"""Looks at a real Prometheus until the alerts of a fault fire, and until they are over."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from docs.alert_faults import seen_by
from tests.support.impatient_rules import MINUTE_IN_TESTS_S, impatient
from tests.support.prometheus_process import BINARY, PrometheusProcess, running_prometheus
from tests.support.waiting import wait_until

PATIENCE_S = 90
LOOK_S = 0.2

needs_prometheus = pytest.mark.skipif(
    BINARY is None, reason="Prometheus (Debian's package prometheus) is not installed"
)


def nothing() -> None:
    """What a fault needs that goes on by itself."""


class AlertWatch:
    """`alerts` are those that the test `test` has to see."""

    def __init__(self, prometheus: PrometheusProcess, test: str) -> None:
        self.prometheus = prometheus
        self.alerts = seen_by(test)
        assert self.alerts, f"docs/alert_faults.py does not say what is seen by {test}"

    def until_scraped(self, urls: Sequence[str]) -> None:
        """Each of the processes, twice at least: what rises from now on is seen to rise."""

        def is_scraped() -> bool:
            scrapes = self.prometheus.query("min(count_over_time(up[1m])) and count(up == 1) == " + str(len(urls)))
            return bool(scrapes) and int(scrapes[0]["value"][1]) > 1

        self.prometheus.scrape(urls)
        self._until(is_scraped, f"scrapes of {urls}")

    def until_quiet(self, urls: Sequence[str]) -> None:
        """They have been scraped and nothing fires: before the fault."""
        self.until_scraped(urls)
        self._until(lambda: not self.prometheus.firing(), "no alert")

    def until_firing(self, *, beside: frozenset[str] = frozenset(), keep: Callable[[], object] = nothing) -> None:
        """All of the test's alerts have fired (some are over by themselves), and no other than `beside`, which the
        fault may have in its train. `keep` is called again and again: what keeps the fault going."""

        def do_all_fire() -> bool:
            keep()
            seen.update(self.prometheus.firing())
            return self.alerts <= seen

        seen: set[str] = set()
        try:
            self._until(do_all_fire, f"{sorted(self.alerts)} fire")
        except AssertionError as error:
            raise AssertionError(f"{error}; never seen: {sorted(self.alerts - seen)}") from None
        assert seen <= self.alerts | beside, f"fire without their fault: {seen - self.alerts - beside}"

    def until_resolved(self, *, keep: Callable[[], object] = nothing) -> None:
        def do_none_fire() -> bool:
            keep()
            return not self.prometheus.firing()

        self._until(do_none_fire, "all alerts are over")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, seconds=PATIENCE_S, what=what, poll_s=LOOK_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; firing: {sorted(self.prometheus.firing())}") from None


@contextmanager
def alert_watch(
    directory: Path, test: str, *, minute_s: float = MINUTE_IN_TESTS_S, token: str = ""
) -> Iterator[AlertWatch]:
    """With the rules as they are, but for their patience. Where processes want a token, they are shown that one."""
    directory.mkdir(parents=True, exist_ok=True)
    rules = impatient(directory / "alerts.yaml", minute_s=minute_s)
    with running_prometheus(directory / "prometheus", [], rules=rules, token=token) as prometheus:
        yield AlertWatch(prometheus, test)
