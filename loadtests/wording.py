"""How numbers are written, in the terminal and in the documentation."""

from loadtests.result import Result
from loadtests.rounds import Spread


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if part and whole else ""


def low_to_high(spread: Spread) -> str:
    """The lowest and highest round; empty when there was one round only."""
    return "" if spread.low == spread.high else f"{number(spread.low)}–{number(spread.high)}"


def ratios(result: Result) -> list[str]:
    """To each limit, as the median over the rounds."""
    return [f"{result.ratio_to(limit).median:.2f} × {limit.name}" for limit in result.limits]
