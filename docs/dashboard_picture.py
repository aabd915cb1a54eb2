"""Draws the dashboard `overview` as Prometheus answers its queries: a cluster under load, of which one node is killed.

`python -m docs.dashboard_picture` writes docs/images/dashboard-overview.svg. It takes two minutes and needs Prometheus
(Debian's package) and the etcd of the tests.
"""

import asyncio
import contextlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from docs.administration_screenshots import IMAGES
from docs.dashboards import DASHBOARDS, Panel
from tests.integration.cluster.gateways import ask
from tests.support.etcd_binary import VARIABLE, find_etcd
from tests.support.prometheus_process import PrometheusProcess, running_prometheus
from tests.support.real_cluster import RealCluster, running_real_cluster
from tests.support.waiting import poll_until

REPOSITORY = Path(__file__).resolve().parents[1]
CALM_S = 25.0
"""Before the fault, while it lasts, and after it."""
STEP_S = 1.0
CHOICES = {"$__rate_interval": "5s"}
TOPICS = {"orders": ("billing", "mail"), "clicks": ("reports",)}
SLOW_GROUP = "reports"
_LEGEND_LINES_MAX = 8
_COLOURS = ("#1f6feb", "#d4a72c", "#1a7f37", "#cf222e", "#8250df", "#bf3989", "#57606a", "#0a7ea4")


class Load:
    """Producers and consumers over both gateways until it is told to stop."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._stop = Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        work = [(self._send, topic) for topic in TOPICS for _ in range(2)]
        pairs = [(topic, group) for topic, groups in TOPICS.items() for group in groups]
        with ThreadPoolExecutor(len(work) + len(pairs)) as threads:
            for function, topic in work:
                threads.submit(function, topic)
            for topic, group in pairs:
                threads.submit(self._receive, topic, group)
            try:
                yield
            finally:
                self._stop.set()

    def _send(self, topic: str) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            self._ask(number, "POST", "/messages", {"queue": topic, "body": number, "key": f"k{number % 50}"})
            self._stop.wait(0.02)

    def _receive(self, topic: str, group: str) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            limit = 5 if group == SLOW_GROUP else 100
            found = self._ask(number, "GET", f"/messages?queue={topic}&group={group}&max={limit}&waitSeconds=1", None)
            receipts = [each["receipt"] for each in found.get("messages", [])]
            if receipts:
                self._ask(number, "POST", "/ack", {"receipts": receipts})
            self._stop.wait(0.1)

    def _ask(self, number: int, method: str, path: str, document: object) -> dict[str, Any]:
        with contextlib.suppress(OSError):
            answer = ask(self._urls[number % len(self._urls)], method, path, document)
            return dict(answer.document) if answer.status < 300 else {}
        return {}


async def watched(cluster: RealCluster, prometheus: PrometheusProcess) -> tuple[float, float, float, float]:
    """When the load began, a node was killed, it was started again, and the load ended; since 1970."""
    urls = cluster.gateway_urls
    for topic in TOPICS:
        await asyncio.to_thread(ask, urls[0], "PUT", f"/topics/{topic}", {"partitions": 6, "replicationFactor": 3})
    for group in (group for groups in TOPICS.values() for group in groups):
        await asyncio.to_thread(ask, urls[0], "PUT", f"/groups/{group}", {})

    async def is_scraped() -> bool:
        return bool(prometheus.query("max(acklog_cluster_nodes) == 3"))

    await poll_until(is_scraped, seconds=60, what="a scrape of three nodes")
    times_s = [time.time()]
    with Load(urls).running():
        await asyncio.sleep(CALM_S)
        times_s.append(time.time())
        await cluster.kill([cluster.nodes[2]])
        await asyncio.sleep(CALM_S)
        times_s.append(time.time())
        await cluster.nodes[2].start()
        await asyncio.sleep(CALM_S)
        times_s.append(time.time())
    began_s, killed_s, back_s, ended_s = times_s
    return began_s, killed_s, back_s, ended_s


class Picture:
    """`times_s` are those of `watched`."""

    def __init__(self, prometheus: PrometheusProcess, times_s: tuple[float, float, float, float]) -> None:
        self._prometheus = prometheus
        self._began_s, self._killed_s, self._back_s, self._ended_s = times_s

    def draw(self, panels: Sequence[Panel], title: str) -> Figure:
        numbers = [panel for panel in panels if panel.is_number]
        plots = [panel for panel in panels if not panel.is_number]
        rows = -(-len(plots) // 2)
        figure = Figure(figsize=(12, 1.1 + 2.5 * rows), layout="constrained")
        FigureCanvasSVG(figure)
        figure.suptitle(title, fontsize=12, x=0.01, ha="left", weight="bold")
        grid = figure.add_gridspec(rows + 1, 4, height_ratios=[0.35] + [1] * rows)
        for number, panel in enumerate(numbers):
            self._draw_number(figure.add_subplot(grid[0, number]), panel)
        for number, panel in enumerate(plots):
            column = 2 * (number % 2)
            self._draw_plot(figure.add_subplot(grid[1 + number // 2, column : column + 2]), panel)
        return figure

    def _series(self, panel: Panel) -> list[tuple[str, list[float], list[float]]]:
        query = panel.query
        for variable, value in CHOICES.items():
            query = query.replace(variable, value)
        found = self._prometheus.query_range(query, start_s=self._began_s, end_s=self._ended_s, step_s=STEP_S)
        return [
            (
                _legend_of(panel, each["metric"]),
                [at_s - self._began_s for at_s, _ in each["values"]],
                [float(value) for _, value in each["values"]],
            )
            for each in found
        ]

    def _draw_number(self, axes: Axes, panel: Panel) -> None:
        newest = next((values[-1] for _, _, values in self._series(panel)), 0.0)
        axes.set_axis_off()
        axes.text(0, 0.75, panel.title, fontsize=9, color="#57606a", transform=axes.transAxes)
        unit = " s" if panel.unit == "s" else ""
        axes.text(0, 0.05, f"{newest:.3g}{unit}", fontsize=17, color=_COLOURS[0], transform=axes.transAxes)

    def _draw_plot(self, axes: Axes, panel: Panel) -> None:
        axes.set_title(panel.title + (" (s)" if panel.unit == "s" else ""), loc="left", fontsize=9)
        shown = sorted(self._series(panel), key=lambda each: -sum(value for value in each[2] if value == value))
        for colour, (legend, times_s, values) in zip(_COLOURS, shown[:_LEGEND_LINES_MAX], strict=False):
            axes.plot(times_s, values, label=legend or None, color=colour, linewidth=1)
        axes.axvspan(self._killed_s - self._began_s, self._back_s - self._began_s, color="#cf222e", alpha=0.07)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, self._ended_s - self._began_s)
        axes.grid(visible=True, alpha=0.3)
        if any(legend for legend, _, _ in shown):
            axes.legend(fontsize=7, frameon=False, loc="upper left", ncols=2)


def _legend_of(panel: Panel, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), panel.legend)


async def main() -> None:
    overview = next(each for each in DASHBOARDS if each.name == "overview")
    etcd = find_etcd(REPOSITORY / ".pytest_cache" / "d" / "etcd", named=os.environ.get(VARIABLE))
    with tempfile.TemporaryDirectory() as scratch:
        async with running_real_cluster(Path(scratch, "cluster"), etcd) as cluster:
            urls = [process.url for process in [*cluster.nodes.values(), *cluster.gateways.values()]]
            with running_prometheus(Path(scratch, "prometheus"), urls) as prometheus:
                picture = Picture(prometheus, await watched(cluster, prometheus))
                style = {"svg.fonttype": "none", "svg.hashsalt": "acklog", "axes.spines.top": False, "font.size": 8}
                with mpl.rc_context(style):
                    title = f"{overview.title} (red: one node of three is gone)"
                    figure = picture.draw(overview.panels, title)
                    figure.savefig(IMAGES / "dashboard-overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    asyncio.run(main())
