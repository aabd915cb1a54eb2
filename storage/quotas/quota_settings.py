"""What the node that deals out a quota goes by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    burst_ms: int = 1_000
    """What nobody used is kept for so long, for a burst: who was idle may do a second's worth at once. At least one
    unit is kept."""

    claim_idle_ms: int = 2_000
    """A claim that was not heard of for so long is none any more."""

    order_ms: int = 1_000
    """What a claim wants beyond what it gets is remembered up to a whole quota of so long."""

    quotas_max: int = 100_000
    """Quotas that are dealt out by one node; the one asked for longest ago begins anew."""

    claims_max: int = 1_000
    """Claims on one quota, over all gateways; the one that was not heard of for longest begins anew."""
