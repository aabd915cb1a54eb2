"""What gateways ask a node of the quotas that it deals out."""

from cluster.ports.clock import Clock
from storage.quotas.quota_owner import QuotaOwner
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.quota_messages import QuotaSharesRequest, QuotaSharesResponse


class QuotaCalls:
    def __init__(self, clock: Clock, settings: QuotaSettings) -> None:
        self._clock = clock
        self._owner = QuotaOwner(settings)

    async def shares(self, request: QuotaSharesRequest) -> QuotaSharesResponse:
        """As `NodeApi.quota_shares`."""
        return self._owner.answer(request, self._clock.monotonic_ms())
