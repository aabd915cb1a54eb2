"""A bar for each carrier."""

from collections.abc import Sequence
from pathlib import Path


def save_delays(delays: Sequence[tuple[str, int, float]], path: Path) -> None:
    """`delays` are (carrier, flights, mean delay in minutes), the latest first."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    carriers = [carrier for carrier, _, _ in delays]
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    bars = axes.bar(carriers, [delay for _, _, delay in delays], color="#3b6ea5")
    axes.bar_label(bars, labels=[f"{flights:,}" for _, flights, _ in delays], fontsize=7, rotation=45, padding=2)
    axes.set_title("Departure delay by carrier, New York 2013 (above the bars: flights)")
    axes.set_ylabel("mean delay, minutes")
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
