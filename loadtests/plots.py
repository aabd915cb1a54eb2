"""Results as pictures (SVG)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from loadtests.rebalance_result import Outcome
from loadtests.result import Result
from loadtests.rounds import nines_of, spread_of
from loadtests.scenarios import OPEN_LOOP_P99_TARGET_MS

PERCENTS = (0.0, 90.0, 99.0, 99.9, 99.99)
RATE_UNITS = ("requests/s", "messages/s", "MB/s")
OURS, LIMITS = "#1f6feb", ("#8c959f", "#c4a484", "#b0c4b1")
BAR_HEIGHT_INCHES = 0.26
STAYED, MOVED = OURS, "#cf222e"


@contextmanager
def _style() -> Iterator[None]:
    """The text stays text, and the same results give the same file."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "acklog", "font.size": 9, "axes.spines.top": False}):
        yield


def draw_latencies(results: Sequence[Result], path: Path) -> None:
    """Latency by percentile at each fixed rate. Does nothing when there is no open loop among the results."""
    shown = [result for result in results if result.curve]
    if not shown:
        return
    with _style():
        figure = _figure(width=4.6 * len(shown), height=3.6)
        for number, result in enumerate(shown, start=1):
            _draw_curves(figure.add_subplot(1, len(shown), number), result)
        _save(figure, path)


def _draw_curves(axes: Axes, result: Result) -> None:
    for color, (name, curve) in zip(LIMITS, result.limit_curves, strict=False):
        _draw_curve(axes, curve, name, color)
    _draw_curve(axes, result.curve, "Acklog, durable", OURS)
    axes.axhline(OPEN_LOOP_P99_TARGET_MS, color="#cf222e", linewidth=0.8, linestyle="--", label="aim at 99 %")
    axes.axvline(nines_of(99), color="#cf222e", linewidth=0.8, linestyle="--")
    axes.set_yscale("log")
    axes.set_xticks([nines_of(percent) for percent in PERCENTS], [f"{percent:g} %" for percent in PERCENTS])
    axes.set_title(result.name.removesuffix(": p99"))
    axes.set_xlabel("percentile")
    axes.set_ylabel("ms, from the intended send time")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(loc="lower right", frameon=False)


def _draw_curve(axes: Axes, curve: Sequence[tuple[float, float]], name: str, color: str) -> None:
    axes.plot([nines_of(percent) for percent, _ in curve], [ms for _, ms in curve], label=name, color=color)


def draw_rates(results: Sequence[Result], path: Path) -> None:
    """Every rate above the limits that it is held against. Does nothing when there is none."""
    panels = [(unit, [each for each in results if each.limits and each.unit == unit]) for unit in RATE_UNITS]
    panels = [(unit, found) for unit, found in panels if found]
    if not panels:
        return
    heights = [sum(len(result.limits) + 2 for result in found) for _, found in panels]
    with _style():
        figure = _figure(width=9.2, height=BAR_HEIGHT_INCHES * sum(heights) + 0.7 * len(panels))
        grid = figure.add_gridspec(len(panels), 1, height_ratios=heights)
        for number, (unit, found) in enumerate(panels):
            _draw_bars(figure.add_subplot(grid[number]), unit, found)
        _save(figure, path)


def _draw_bars(axes: Axes, unit: str, results: Sequence[Result]) -> None:
    at, ticks, names = 0.0, [], []
    for result in results:
        bars = [(result.name, result.value, OURS)]
        for color, limit in zip(LIMITS, result.limits, strict=False):
            bars.append((limit.name, spread_of(limit.values).median, color))
        for name, value, color in bars:
            axes.barh(at, value, color=color, height=0.8)
            axes.annotate(f" {value:,.0f}", (value, at), va="center", fontsize=8)
            ticks.append(at)
            names.append(name)
            at -= 1
        at -= 1
    axes.set_yticks(ticks, names)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(unit)
    axes.set_xlim(0, 1.12 * axes.get_xlim()[1])


def draw_gaps(outcomes: Sequence[Outcome], path: Path) -> None:
    """The longest time in which nothing came of each partition, a panel for each thing that happened to its group."""
    with _style():
        figure = _figure(width=2.1 * len(outcomes) + 0.6, height=3.2)
        panels = figure.subplots(1, len(outcomes), sharey=True, squeeze=False)
        for axes, outcome in zip(panels[0], outcomes, strict=True):
            for name, gaps, color in (("stayed", outcome.stayed_s, STAYED), ("moved", outcome.moved_s, MOVED)):
                axes.scatter(list(gaps), list(gaps.values()), s=9, color=color, label=f"{name}: {len(gaps)}")
            if outcome.allowed_s:
                axes.axhline(outcome.allowed_s, color=MOVED, linewidth=0.8, linestyle="--")
            axes.set_yscale("log")
            axes.set_title(outcome.what)
            axes.set_xlabel("partition")
            axes.grid(True, which="major", alpha=0.3)
            axes.legend(loc="center right", frameon=False, handletextpad=0.1)
        panels[0][0].set_ylabel("s, longest gap")
        _save(figure, path)


def _figure(*, width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasSVG(figure)
    return figure


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
