"""How a gateway, or a node with recurring schedules, asks for its part of quotas."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuotaAskSettings:
    ask_ms: int = 100
    """How often a gateway asks for what it needs of the quotas that are being used."""

    first_answer_ms: int = 500
    """How long a call waits for the first answer about a quota; then it goes by the share of a stranger."""

    alone_after_ms: int = 500
    """When nothing was heard for so long, the gateway goes on with what it was given last per second."""

    stranger_percent: int = 10
    """What a gateway takes of a quota that it never heard about, until somebody answers."""

    alone_burst_ms: int = 1_000
    """How much of that it keeps for later."""

    claim_idle_ms: int = 2_000
    """Who did not use a quota for so long, and owes nothing, is forgotten."""

    claimants_max: int = 32
    """Claimants on one quota that are told apart; the further ones share one part."""

    accounts_max: int = 10_000
    """Quotas that are kept account of; the one used longest ago is forgotten, with what it owes."""

    asks_per_call_max: int = 1_000

    retry_after_ms_min: int = 150
    """Sooner than that nobody is told to come back: before, there may not have been another answer."""

    turns_ms_max: int = 1_000
    """So much later than there is room again somebody is told to come back at most, as others were told before."""

    retry_after_ms_max: int = 60_000
    """Longer than that nobody is told to stay away who owes nothing: at what pace he goes may soon be another."""

    retry_after_owing_ms_max: int = 60 * 60_000
    """And nobody at all longer than that."""
