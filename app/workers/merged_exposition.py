"""The metrics of several processes as one text: every series has the label of its process. Pure.

Added up they would be wrong: a process that is started again begins at zero, and the sum would fall, which Prometheus
takes for a beginning of all of it. With a label each series begins again by itself.
"""

from collections.abc import Generator, Iterator, Mapping

LABEL = "worker"
LINES_AT_ONCE = 2_000
"""Between two turns of others."""
_UP = "acklog_worker_up"


def merged_exposition(texts: Mapping[str, bytes | None]) -> Generator[None, None, bytes]:
    """Of the processes by their names; None for one that does not answer. Yields where others may have their turn."""
    families: dict[str, list[str]] = {}
    for worker, text in texts.items():
        family: list[str] = []
        for number, line in enumerate(_lines(text or b"")):
            if number % LINES_AT_ONCE == LINES_AT_ONCE - 1:
                yield
            if line.startswith("# HELP "):
                family = families.setdefault(line.split(" ", 3)[2], [])
                if not family:
                    family.append(line)
            elif line.startswith("# TYPE "):
                if len(family) == 1:
                    family.append(line)
            else:
                family.append(_labelled(line, worker))
    parts = [line for family in families.values() for line in family]
    yield
    return "\n".join([*parts, *_standing(texts)]).encode() + b"\n"


def _lines(text: bytes) -> Iterator[str]:
    """Line ends within a label are escaped, so these are all there are; other characters that end a line elsewhere do
    not here."""
    return (line for line in text.decode().split("\n") if line)


def _labelled(line: str, worker: str) -> str:
    """`name{labels} value` or `name value`: no name has a blank or a brace."""
    name, blank, rest = line.partition(" ")
    before, brace, labels = line.partition("{")
    if brace and len(before) < len(name):
        return f'{before}{{{LABEL}="{worker}",{labels}'
    return f'{name}{{{LABEL}="{worker}"}}{blank}{rest}'


def _standing(texts: Mapping[str, bytes | None]) -> Iterator[str]:
    yield f"# HELP {_UP} 1 for each process of this server that has told its metrics, else 0"
    yield f"# TYPE {_UP} gauge"
    for worker, text in texts.items():
        yield f'{_UP}{{{LABEL}="{worker}"}} {int(text is not None)}'
