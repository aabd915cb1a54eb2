"""The results of `make cluster-bench` as a JSON file."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from loadtests.cluster_plan import ClusterPlan
from loadtests.process_costs import Cost
from loadtests.result import Result
from loadtests.results_file import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterResult:
    """`result` of the cluster, with the embedded server as its limit, and what every process used for it;
    `embedded_cpu_us` is what the embedded server used per message for the same."""

    result: Result
    costs: tuple[Cost, ...]
    embedded_cpu_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRun:
    """`failure` is empty for a run that came to its end; `etcd_storage` is the file system of etcd's data."""

    machine: Machine
    plan: ClusterPlan
    date: str
    seconds: float
    load_before: float
    etcd_storage: str = "unknown"
    failure: str = ""
    results: list[ClusterResult] = field(default_factory=list)


def write_cluster_run(run: ClusterRun, path: Path) -> None:
    """Medians, ratios and costs per message stand there, too, for readers that do not want to compute them."""
    document = msgspec.to_builtins(run)
    for entry, each in zip(document["results"], run.results, strict=True):
        result = each.result
        entry["median"] = result.value
        entry["ratios"] = {limit.name: result.ratio_to(limit).median for limit in result.limits}
        entry["cpu_us_per_message"] = {cost.role: cost.cpu_us_per_message for cost in each.costs}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def read_cluster_run(path: Path) -> ClusterRun:
    """Raises msgspec.ValidationError (or DecodeError) for a file that was not written by `write_cluster_run`."""
    return msgspec.json.decode(path.read_bytes(), type=ClusterRun)
