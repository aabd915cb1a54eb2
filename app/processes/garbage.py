"""How often a process looks for cycles of objects that nobody needs any more.

Requests make many short-lived objects and hardly a cycle: collecting them over and over, the loaded modules included,
takes a fifth of a send's time (measured with singles, 64 connections), and more than half of a start's with 8,000
partitions.
"""

import gc

THRESHOLDS = (50_000, 20, 100)


def collect_rarely() -> None:
    """From the start on: what is opened then stays, and is looked at in vain again and again."""
    gc.set_threshold(*THRESHOLDS)


def pass_over_what_is_there() -> None:
    """Once everything is open. Nothing is collected before: it would take seconds where there is much, and what a start
    leaves in cycles is less than can be measured (of 430 MiB, with 8,000 partitions)."""
    gc.freeze()
