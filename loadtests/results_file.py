"""The results of a run as a JSON file."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from loadtests.plan import Cpus, Plan
from loadtests.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the numbers are from."""

    system: str
    python: str
    processor: str
    processors: int
    memory_bytes: int
    server_cpus: tuple[int, ...]
    client_cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything about a run. `failure` is empty for one that came to its end. `load_before` is the machine's load
    average when it began: beyond a few tenths somebody else was at work, and the numbers are too low."""

    machine: Machine
    plan: Plan
    date: str
    seconds: float
    load_before: float
    failure: str = ""
    results: list[Result] = field(default_factory=list)


class AnyRun(Protocol):
    """A run of whatever was measured; msgspec has to know how to write it."""

    @property
    def results(self) -> list[Result]: ...


def describe_machine(cpus: Cpus) -> Machine:
    return Machine(
        system=platform.platform(),
        python=platform.python_version(),
        processor=_processor(),
        processors=os.cpu_count() or 0,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        server_cpus=tuple(sorted(cpus.server or ())),
        client_cpus=tuple(sorted(cpus.client or ())),
    )


def _processor() -> str:
    """Empty where the system does not tell."""
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return ""
    for line in information.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return ""


def write_run(run: AnyRun, path: Path) -> None:
    """Medians and ratios stand there, too, for readers that do not want to compute them."""
    document = msgspec.to_builtins(run)
    for entry, result in zip(document["results"], run.results, strict=True):
        entry["median"] = result.value
        entry["per_cpu_s"] = result.per_cpu_s
        entry["warnings"] = list(result.warnings)
        entry["ratios"] = {limit.name: result.ratio_to(limit).median for limit in result.limits}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def read_run(path: Path) -> Run:
    """Raises msgspec.ValidationError (or DecodeError) for a file that was not written by `write_run`."""
    return msgspec.json.decode(path.read_bytes(), type=Run)
