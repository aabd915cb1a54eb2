"""A server's metrics, read from Prometheus' text format."""

import re
from collections.abc import Mapping

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)(?: [0-9]+)?")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


class ServerMetrics:
    """Samples by name; lines that are no samples are passed over."""

    def __init__(self, text: str) -> None:
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for line in text.splitlines():
            found = None if line.startswith("#") else _SAMPLE.fullmatch(line)
            if found is None:
                continue
            try:
                value = float(found[3])
            except ValueError:
                continue
            labels = {name: _unescaped(label) for name, label in _LABEL.findall(found[2] or "")}
            self._samples.setdefault(found[1], []).append((labels, value))

    def value(self, name: str) -> float | None:
        """The metric's value, the sum of its series; None where the server does not have it."""
        samples = self._samples.get(name)
        return None if samples is None else sum(value for _, value in samples)

    def by_label(self, name: str, label: str) -> Mapping[str, float]:
        """Sums by the values of one label."""
        sums: dict[str, float] = {}
        for labels, value in self._samples.get(name, []):
            key = labels.get(label, "")
            sums[key] = sums.get(key, 0.0) + value
        return sums


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), text)
