"""The quotas that a node deals out. All of it is in memory alone: who begins anew deals out a burst more at most."""

from collections import OrderedDict

from storage.quotas.quota_division import QuotaDivision
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.quota_messages import QuotaSharesRequest, QuotaSharesResponse


class QuotaOwner:
    """Sans-IO."""

    def __init__(self, settings: QuotaSettings) -> None:
        self._settings = settings
        self._divisions: OrderedDict[str, QuotaDivision] = OrderedDict()

    def __len__(self) -> int:
        return len(self._divisions)

    def answer(self, request: QuotaSharesRequest, now_ms: int) -> QuotaSharesResponse:
        grants = [
            self._division(ask.key, ask.per_second, now_ms).grant(
                request.gateway, ask.wants, per_second=ask.per_second, now_ms=now_ms
            )
            for ask in request.asks
        ]
        return QuotaSharesResponse(grants)

    def _division(self, key: str, per_second: int, now_ms: int) -> QuotaDivision:
        division = self._divisions.get(key)
        if division is None:
            division = self._divisions[key] = QuotaDivision(per_second, self._settings, now_ms)
            if len(self._divisions) > self._settings.quotas_max:
                self._divisions.popitem(last=False)
        else:
            self._divisions.move_to_end(key)
        return division
