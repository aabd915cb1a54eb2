"""A process's metrics as the text that Prometheus scrapes, some lines at a time.

prometheus-client makes an object of each line, and looks at each of its characters: with a thousand groups that held
the event loop for longer than any request. Here a line is two texts beside each other, of which the labels are made
once for all metrics of a group, and others have their turn in between.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

LINES_AT_ONCE = 2_000
"""Between two turns of others: a millisecond or two."""
_COUNTED = "_total"


class SteppedCollector(Collector):
    """One with so much to look at that others must have their turn meanwhile: where `steps` yields None."""

    def steps(self) -> Iterator[Metric | None]:
        raise NotImplementedError

    def collect(self) -> Iterator[Metric]:
        return (each for each in self.steps() if each is not None)


class Labels:
    """Values of labels, and their text in a line: {topic="orders",group="mail"}."""

    __slots__ = ("text", "values")

    def __init__(self, names: Sequence[str], values: Sequence[str]) -> None:
        self.values = dict(zip(names, values, strict=True))
        pairs = ",".join(f'{name}="{escaped(value)}"' for name, value in sorted(self.values.items()))
        self.text = f"{{{pairs}}}"


class LabelledFamily(Metric):
    """A gauge, or a counter, of which many lines have labels that other metrics have, too."""

    def __init__(self, name: str, text: str, kind: str, labels: Sequence[str], rows: Mapping[Labels, float]) -> None:
        super().__init__(name, text, kind)
        self._labelnames = tuple(labels)
        self.rows = rows

    @property
    def samples(self) -> list[Sample]:
        """For whoever reads a family otherwise than as text."""
        return [Sample(self.line_name, labels.values, value) for labels, value in self.rows.items()]

    @samples.setter
    def samples(self, _none: list[Sample]) -> None:
        """As prometheus-client's constructor sets them."""

    @property
    def line_name(self) -> str:
        return self.name + (_COUNTED if self.type == "counter" else "")


class SteppedRegistry(CollectorRegistry):
    """A registry that can write its text in steps."""

    def __init__(self) -> None:
        super().__init__(auto_describe=True)
        self._in_order: list[Collector] = []

    def register(self, collector: Collector) -> None:
        super().register(collector)
        self._in_order.append(collector)

    def exposition(self) -> Generator[None, None, bytes]:
        """The text format. Yields where others may have their turn."""
        parts: list[str] = []
        lines = 0
        for collector in self._in_order:
            families = collector.steps() if isinstance(collector, SteppedCollector) else collector.collect()
            for family in families:
                if family is None:
                    yield
                    continue
                for chunk in chunks_of(family):
                    parts += chunk
                    lines += len(chunk)
                    if lines >= LINES_AT_ONCE:
                        yield
                        lines = 0
        return "".join(parts).encode()


def chunks_of(family: Metric) -> Iterator[list[str]]:
    """Its lines, at most LINES_AT_ONCE in each list; what they are about comes first."""
    counted = _COUNTED if family.type == "counter" else ""
    kind = {"unknown": "untyped", "info": "gauge", "stateset": "gauge"}.get(family.type, family.type)
    text = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
    yield [f"# HELP {family.name}{counted} {text}\n# TYPE {family.name}{counted} {kind}\n"]
    if isinstance(family, LabelledFamily):
        name, rows = family.line_name, iter(family.rows.items())
        while chunk := [f"{name}{labels.text} {value}\n" for labels, value in islice(rows, LINES_AT_ONCE)]:
            yield chunk
    else:
        samples = iter(family.samples)
        while chunk := [_line(sample) for sample in islice(samples, LINES_AT_ONCE)]:
            yield chunk


def _line(sample: Sample) -> str:
    labels = Labels(tuple(sample.labels), tuple(sample.labels.values())).text if sample.labels else ""
    return f"{sample.name}{labels} {floatToGoString(sample.value)}\n"  # type: ignore[no-untyped-call]


def escaped(value: str) -> str:
    """As between the quotes of a label."""
    if value.isalnum():
        return value
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
