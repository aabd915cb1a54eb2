"""What a gateway asks of the node that deals a quota out. Fields are added at the end only, as in
`storage.rpc.messages`."""

import msgspec


class _Message(msgspec.Struct, array_like=True, gc=False):
    pass


class QuotaWant(_Message):
    """So many units (messages, bytes, requests) `claimant` wants beyond what it has."""

    claimant: str
    units: float


class QuotaAsk(_Message):
    """Of the quota `key`, which allows `per_second`."""

    key: str
    per_second: int
    wants: list[QuotaWant]


class QuotaGrant(_Message):
    """So many units `claimant` may use; `per_second` is what it was given lately, and goes by while it hears nothing
    more."""

    claimant: str
    units: float
    per_second: float


class QuotaSharesRequest(_Message):
    """`gateway` names the process that asks."""

    gateway: str
    asks: list[QuotaAsk]


class QuotaSharesResponse(_Message):
    """For each ask, in their order, what each of its claimants gets."""

    grants: list[list[QuotaGrant]]
