"""The accounts of a process's quotas, and the asking for more. The process is a gateway, or a node whose recurring
schedules send.

A quota is dealt out by one node (`cluster.model.quotas.owner_of_quota`). While it is used, the process asks that node
every tenth of a second for what it needs; while it is not, nobody asks and nothing is kept. Without an answer it goes
on with what it was given last per second: a quota is no reason to stop.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.quotas import Quota, owner_of_quota
from cluster.ports.clock import Clock
from storage.quota_use.quota_account import QuotaAccount
from storage.quota_use.quota_ask_settings import QuotaAskSettings
from storage.quota_use.set_quotas import is_set
from storage.rpc.node_api import NodeApi
from storage.rpc.quota_messages import QuotaAsk, QuotaSharesRequest


class Charge(NamedTuple):
    """So many `units` of a quota, for `claimant`: quotas are shared evenly among those who claim them."""

    quota: Quota
    claimant: str
    units: int


class QuotaFigures(Protocol):
    """What is counted, by the quotas' names."""

    def count_quota_use(self, quota: str, units: int) -> None: ...

    def count_quota_refusal(self, quota: str) -> None: ...


class QuotaBook:
    """`name` is the process's own, among all that ask. `client_of` finds a node's interface. Once `has_ended` nothing
    is asked for any more, and nobody waits."""

    def __init__(
        self,
        name: str,
        metadata: MetadataView,
        client_of: Callable[[int], NodeApi],
        figures: QuotaFigures,
        *,
        clock: Clock,
        has_ended: Callable[[], bool],
        settings: QuotaAskSettings | None = None,
    ) -> None:
        self._name = name
        self._metadata = metadata
        self._client_of = client_of
        self._figures = figures
        self._clock = clock
        self._has_ended = has_ended
        self._settings = settings or QuotaAskSettings()
        self._accounts: OrderedDict[str, QuotaAccount] = OrderedDict()
        self._heard_ms: dict[int | None, int] = {}
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._rounds: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    async def close(self) -> None:
        """Stop asking."""
        tasks = [task for task in (self._rounds, *self._asking.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- using quotas ------------------------------------------------------------------------------------------------

    def try_take(self, charges: Sequence[Charge]) -> bool:
        """Take all of it, if there is room in each of the quotas; else nothing, and `take` is for it."""
        now_ms = self._clock.monotonic_ms()
        if self._first_without_room(charges, now_ms) is not None:
            return False
        self._want(charges, now_ms)
        self.spend(charges)
        return True

    async def take(self, charges: Sequence[Charge]) -> None:
        """Take all of it. The first who uses a quota waits until it is known what there is of it.

        Raises ServerError QUOTA_EXCEEDED, with nothing taken.
        """
        await self.admit(charges)
        self.spend(charges)

    async def admit(self, charges: Sequence[Charge]) -> None:
        """Return when there is room in each of the quotas: what is done is charged afterwards, with `spend`. Who finds
        none waits for one answer, unless the last one gave less than was asked for.

        Raises ServerError QUOTA_EXCEEDED.
        """
        now_ms = self._clock.monotonic_ms()
        deadline_ms = now_ms + self._settings.first_answer_ms
        self._want(charges, now_ms)
        while (short := self._first_without_room(charges, now_ms)) is not None:
            account = self._account(short.quota)
            if not account.is_used_up(short.claimant, now_ms):
                account.insist(short.claimant, now_ms)
                self._ask_for([account])
            if account.is_used_up(short.claimant, now_ms):
                self._figures.count_quota_refusal(short.quota.name)
                raise self.exceeded(short)
            may_wait = now_ms < deadline_ms and not self._has_ended()
            if not may_wait or not await self._hear(deadline_ms - now_ms):
                account.go_on_alone(self._clock.monotonic_ms())
            now_ms = self._clock.monotonic_ms()

    def charge(self, charges: Sequence[Charge]) -> None:
        """What nobody could know before: it is taken, and expected to be wanted again."""
        self._want(charges, self._clock.monotonic_ms())
        self.spend(charges)

    def spend(self, charges: Sequence[Charge]) -> None:
        now_ms = self._clock.monotonic_ms()
        for charge in charges:
            self._account(charge.quota).take(charge.claimant, charge.units, now_ms)
            self._figures.count_quota_use(charge.quota.name, charge.units)

    def room(self, quota: Quota, claimant: str) -> int:
        """What is left of the quota for somebody who was admitted; at least 1."""
        return self._account(quota).room(claimant, self._clock.monotonic_ms())

    def exceeded(self, charge: Charge) -> ServerError:
        quota = charge.quota
        wait_ms = self._account(quota).turn_in_ms(charge.claimant, self._clock.monotonic_ms())
        detail = f"{quota.name} is {quota.per_second:,}, for the whole cluster"
        extra: dict[str, object] = {"quota": quota.name, "retryAfterMs": wait_ms}
        return ServerError(ProblemCode.QUOTA_EXCEEDED, detail, retry_after_ms=wait_ms, extra=extra)

    def _first_without_room(self, charges: Sequence[Charge], now_ms: int) -> Charge | None:
        for charge in charges:
            if not self._account(charge.quota).has_room(charge.claimant, now_ms):
                return charge
        return None

    def _want(self, charges: Sequence[Charge], now_ms: int) -> None:
        for charge in charges:
            self._account(charge.quota).want(charge.claimant, charge.units, now_ms)
        self._begin_rounds()

    async def _hear(self, wait_ms: int) -> bool:
        """Whether some node has answered meanwhile."""
        news = self._news
        try:
            async with asyncio.timeout(wait_ms / 1000):
                return await news.wait()
        except TimeoutError:
            return False

    def _account(self, quota: Quota) -> QuotaAccount:
        account = self._accounts.get(quota.key)
        if account is None:
            account = self._accounts[quota.key] = QuotaAccount(quota, self._settings)
            if len(self._accounts) > self._settings.accounts_max:
                self._accounts.popitem(last=False)
        account.quota = quota
        return account

    # --- asking ------------------------------------------------------------------------------------------------------

    def _begin_rounds(self) -> None:
        if self._rounds is None and not self._has_ended():
            self._rounds = asyncio.get_running_loop().create_task(self._ask_for_ever(), name="quotas")

    async def _ask_for_ever(self) -> None:
        """For as long as some quota is used."""
        try:
            while self._accounts and not self._has_ended():
                await self._clock.sleep(self._settings.ask_ms)
                self._forget_unused()
                self._ask_for(list(self._accounts.values()))
        finally:
            self._rounds = None
            self._heard_ms.clear()

    def _forget_unused(self) -> None:
        """Nobody uses these, or they were taken away."""
        now_ms = self._clock.monotonic_ms()
        for account in list(self._accounts.values()):
            if account.is_idle(now_ms) or not is_set(account.quota, self._metadata):
                del self._accounts[account.quota.key]

    def _ask_for(self, accounts: list[QuotaAccount]) -> None:
        now_ms = self._clock.monotonic_ms()
        nodes = self._metadata.nodes()
        by_owner: dict[int | None, list[QuotaAccount]] = {}
        for account in accounts:
            by_owner.setdefault(owner_of_quota(account.quota.key, nodes), []).append(account)
        for owner, owned in by_owner.items():
            heard_ms = self._heard_ms.setdefault(owner, now_ms)
            if owner is None or now_ms - heard_ms >= self._settings.alone_after_ms:
                for account in owned:
                    account.go_on_alone(now_ms)
            if owner is not None and owner not in self._asking:
                self._begin_asking(owner, owned[: self._settings.asks_per_call_max])

    def _begin_asking(self, owner: int, accounts: list[QuotaAccount]) -> None:
        asks = [QuotaAsk(each.quota.key, each.quota.per_second, each.wants()) for each in accounts]
        self._asking[owner] = asyncio.get_running_loop().create_task(self._ask(owner, asks, accounts))
        for account in accounts:  # behind those that were not asked for this time
            self._accounts.move_to_end(account.quota.key)

    async def _ask(self, owner: int, asks: list[QuotaAsk], accounts: list[QuotaAccount]) -> None:
        try:
            async with asyncio.timeout(self._settings.alone_after_ms / 1000):
                response = await self._client_of(owner).quota_shares(QuotaSharesRequest(self._name, asks))
        except (ServerError, TimeoutError):
            for account in accounts:
                account.unanswered()
            return  # the next round asks again, or another one
        finally:
            del self._asking[owner]  # before anybody hears the answer: who wants more asks at once
        now_ms = self._clock.monotonic_ms()
        self._heard_ms[owner] = now_ms
        for account, grants in zip(accounts, response.grants, strict=False):
            account.granted(grants, now_ms)
        self._news.set()
        self._news = asyncio.Event()
