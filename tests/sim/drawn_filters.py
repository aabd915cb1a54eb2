"""Which seeds have filters, and where: drawn apart from all the rest, so that seeds of before stay what they were."""

import random
from dataclasses import replace

from tests.sim.filters import FILTERS, NO_FILTER
from tests.sim.options import Options

FILTER_SHARE = 0.3
GROUP_SHARE = 0.7
"""Of the groups of such a seed: those that begin with a filter."""


def with_filters(options: Options) -> Options:
    """In a share of the seeds messages have tags and headers, and groups, calls and readers have filters."""
    rng = random.Random(f"filters {options.seed}")
    if rng.random() >= FILTER_SHARE:
        return options
    return replace(
        options,
        filters={
            group: rng.choice(FILTERS) if rng.random() < GROUP_SHARE else NO_FILTER for group in options.group_names
        },
        filter_changes=rng.choice((0, 0, 1, 3)),
        server=replace(options.server, has_marks=True, call_filter_probability=rng.choice((0.0, 0.0, 0.3, 0.7))),
    )
