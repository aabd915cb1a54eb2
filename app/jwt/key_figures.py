"""What is known of an issuer's keys, for Prometheus."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.jwt.key_ring import KeyRing
from cluster.ports.clock import Clock


class KeyFigures(Collector):
    """Without keys there is no age."""

    def __init__(self, ring: KeyRing, *, clock: Clock) -> None:
        self._ring = ring
        self._clock = clock

    def describe(self) -> Iterator[Metric]:
        yield from self._families()

    def collect(self) -> Iterator[Metric]:
        age, left, known, failures = self._families()
        now_ms = self._clock.monotonic_ms()
        age_ms, keys = self._ring.age_ms(now_ms), self._ring.keys_at(now_ms)
        if age_ms is not None:
            age.add_metric([], age_ms / 1000)
        left.add_metric([], self._ring.left_ms(now_ms) / 1000)
        known.add_metric([], 0 if keys is None else len(keys))
        failures.add_metric([], self._ring.failures)
        yield from (age, left, known, failures)

    def _families(self) -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily, CounterMetricFamily]:
        return (
            GaugeMetricFamily("acklog_jwt_keys_age_seconds", "Since the issuer's keys were last read"),
            GaugeMetricFamily(
                "acklog_jwt_keys_left_seconds", "How long they are good if they cannot be read again; 0: no key is good"
            ),
            GaugeMetricFamily("acklog_jwt_keys", "Keys of the issuer that are known and good"),
            CounterMetricFamily("acklog_jwt_key_refresh_failures", "Looks for the issuer's keys that failed"),
        )
