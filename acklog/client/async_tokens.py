"""Stored tokens, and what tokens may do, for `await`."""

from collections.abc import Sequence

from acklog.client import token_calls
from acklog.client.caller import Caller
from acklog.client.delivery_time import DeliverAt
from acklog.tokens import KnownToken, NewToken, OwnToken, TokenDecision, TokenRight

PAGE_LENGTH = 1000


class AsyncTokens:
    """`client.tokens`. Every method raises AcklogError; but for `own` and `can` it takes who manages the cluster."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def create(
        self,
        name: str,
        *,
        roles: Sequence[str] = (),
        rights: Sequence[TokenRight] = (),
        topics: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        expires_at: DeliverAt | None = None,
        requests_per_second: int | None = None,
        messages_per_second: int | None = None,
        bytes_per_second: int | None = None,
    ) -> NewToken:
        """Make a token for all gateways: with `roles` (producer, consumer, viewer, operator, auditor, admin) for
        `topics` and `groups`, and with `rights`. Raises TokenExists, TooManyTokens, Forbidden."""
        return await self._caller.perform(
            token_calls.create_token(
                name,
                roles=roles,
                rights=rights,
                topics=topics,
                groups=groups,
                expires_at=expires_at,
                requests_per_second=requests_per_second,
                messages_per_second=messages_per_second,
                bytes_per_second=bytes_per_second,
            )
        )

    async def rotate(self, name: str, *, grace_seconds: int | None = None, discard: str | None = None) -> NewToken:
        """Another secret; the one that was good until now stays so for the grace (an hour, or what it was promised
        before). Where two are good already, `discard` ("newest", "oldest") says which ends; the newest ends also where
        it is the only one. Raises TokenNotFound, TokenOver, TokenRotating, Forbidden."""
        return await self._caller.perform(token_calls.rotate_token(name, grace_seconds=grace_seconds, discard=discard))

    async def revoke(self, name: str) -> None:
        """Nobody gets in with it any more. Raises TokenNotFound."""
        await self._caller.perform(token_calls.revoke_token(name))

    async def get(self, name: str) -> KnownToken:
        """Raises TokenNotFound."""
        return await self._caller.perform(token_calls.get_token(name))

    async def list(self) -> "list[KnownToken]":
        """All, by name."""
        found: list[KnownToken] = []
        after: str | None = None
        while True:
            page = await self._caller.perform(token_calls.list_tokens(limit=PAGE_LENGTH, after=after))
            found += page.tokens
            after = page.next
            if after is None:
                return found

    async def own(self) -> OwnToken:
        """The client's own token, with its rights."""
        return await self._caller.perform(token_calls.own_token())

    async def can(
        self, action: str, *, topic: str | None = None, group: str | None = None, name: str | None = None
    ) -> TokenDecision:
        """Whether the client's own token, or the one of that name, may do this to the topic, the group, or the cluster
        where neither is named, and which right says so. Raises TokenNotFound."""
        return await self._caller.perform(token_calls.ask_token(name, action, topic=topic, group=group))
