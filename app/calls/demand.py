"""How much a group has to do: what is asked, and what is answered; flat, as a scaler reads one number by its name."""

from dataclasses import dataclass

import msgspec

from cluster.model.values import GroupMode

TARGET_LAG_MAX = 1_000_000_000
TARGET_SECONDS_MIN = 0.1
TARGET_SECONDS_MAX = 30 * 86_400


@dataclass(frozen=True, slots=True)
class DemandQuery:
    """`topics` empty: all. The targets are those of `app.services.workload.suggested_consumers`."""

    topics: list[str]
    target_lag: int | None
    target_s: float | None


class DemandView(msgspec.Struct, rename="camel"):
    """`lag` are all messages that are not done: of these `waiting` could be delivered now, `inFlight` are with
    consumers, `delayed` come later and `blocked` wait for a person; the rest is paused. `oldestAgeSeconds` is how long
    ago the oldest one was appended that is not done. The rates are messages per second since this gateway was asked
    before, 10 seconds to 10 minutes ago; null at the first time. `consumers` are the members of an exclusive group,
    else those that have received lately. `suggestedConsumers` meets the targets that were given; null without any. Of
    `unknownPartitions` nothing is known now."""

    group: str
    mode: GroupMode
    lag: int
    waiting: int
    in_flight: int
    delayed: int
    blocked: int
    oldest_age_seconds: float
    arrivals_per_second: float | None
    settled_per_second: float | None
    consumers: int
    suggested_consumers: int | None
    unknown_partitions: int
