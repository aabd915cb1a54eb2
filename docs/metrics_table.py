"""The table of docs/metrics.md: every metric of every kind of process, as the processes themselves describe it."""

import asyncio
from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.configuration.tls_options import TlsOptions
from app.gateway.metrics import Metrics
from app.jwt.key_figures import KeyFigures
from app.jwt.key_ring import KeyRing, KeyRingSettings
from app.jwt.refused_jwts import RefusedJwts
from app.processes.cluster_node_metrics import ClusterNodeCollector
from app.processes.node_metrics import NodeCollector
from app.processes.process_figures import ProcessFigures
from app.processes.process_tls import ProcessTls
from app.tracing.span_figures import SpanFigures
from tests.support.cluster import Cluster, ClusterBuilder

UNITS = {"seconds": "s", "bytes": "bytes", "ratio": "0 to 1"}
COUNTED = "_total"


def metrics_table() -> str:
    """One row a metric; `who` are the kinds of processes that tell it: a gateway, a node, a server that is both."""
    return ClusterBuilder().nodes(1).run(_table)


async def _table(cluster: Cluster) -> str:
    figures = ProcessFigures(cluster.clock)
    node = cluster.nodes[1]
    storage = NodeCollector(node.node, node.metadata, names_max=1)
    gateway = Metrics(names_max=1).registry
    spans = SpanFigures()  # of any that traces
    tls = ProcessTls.load(TlsOptions(), None, clock=cluster.clock, in_thread=asyncio.to_thread)
    jwt = (KeyFigures(KeyRing(KeyRingSettings()), clock=cluster.clock), RefusedJwts())  # with an issuer
    told = {
        "gateway": [gateway, *figures.of_gateway(), spans, *tls.collectors, *jwt],
        "node": [storage, ClusterNodeCollector(node), *figures.of_node(), spans, *tls.collectors],
        "server": [gateway, storage, *figures.of_embedded(), spans, *tls.collectors, *jwt],
    }
    rows: dict[str, tuple[Metric, list[str]]] = {}
    for who, collectors in told.items():
        for family in _families(collectors):
            rows.setdefault(family.name, (family, []))[1].append(who)
    lines = ["| metric | type | labels | unit | what it is | of |", "|---|---|---|---|---|---|"]
    lines += [_row(family, who) for _, (family, who) in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def _families(collectors: Iterable[Collector]) -> Iterable[Metric]:
    for collector in collectors:
        yield from collector.collect()


def _row(family: Metric, who: list[str]) -> str:
    name = family.name + (COUNTED if family.type == "counter" else "")
    labels = ", ".join(f"`{label}`" for label in getattr(family, "_labelnames", ()))
    unit = next((unit for suffix, unit in UNITS.items() if suffix in family.name.split("_")), "")
    text = family.documentation.rstrip(".")
    return f"| `{name}` | {family.type} | {labels} | {unit} | {text} | {', '.join(who)} |"
