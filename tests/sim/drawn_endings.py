"""Which groups give nothing up, as those of queues of SQS do: drawn apart from all the rest, so that seeds of before
stay what they were."""

import random
from dataclasses import replace

from tests.sim.options import Options

ENDLESS_SHARE = 0.3
GROUP_SHARE = 0.7
"""Of the groups of such a seed that block nothing."""


def with_endless_groups(options: Options) -> Options:
    """In a share of the seeds messages of some groups come back when their attempts are used up."""
    rng = random.Random(f"endless groups {options.seed}")
    if rng.random() >= ENDLESS_SHARE:
        return options
    others = [name for name in options.group_names if name not in options.blocking_groups]
    return replace(options, endless_groups=tuple(name for name in others if rng.random() < GROUP_SHARE))
