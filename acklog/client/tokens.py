"""Stored tokens, and what tokens may do, without `await`. What each method does stands with its twin in
`async_tokens`."""

from collections.abc import Callable, Sequence

from acklog.client.async_tokens import AsyncTokens
from acklog.client.background import Background
from acklog.client.delivery_time import DeliverAt
from acklog.tokens import KnownToken, NewToken, OwnToken, TokenDecision, TokenRight


class Tokens:
    """`client.tokens`. Every method raises AcklogError; but for `own` and `can` it takes who manages the cluster."""

    def __init__(self, background: Background, twin: Callable[[], AsyncTokens]) -> None:
        self._run = background.run
        self._twin = twin

    def create(
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
        return self._run(
            lambda: self._twin().create(
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

    def rotate(self, name: str, *, grace_seconds: int | None = None, discard: str | None = None) -> NewToken:
        """Another secret; the one that was good until now stays so for the grace (an hour, or what it was promised
        before). Where two are good already, `discard` ("newest", "oldest") says which ends; the newest ends also where
        it is the only one. Raises TokenNotFound, TokenOver, TokenRotating, Forbidden."""
        return self._run(lambda: self._twin().rotate(name, grace_seconds=grace_seconds, discard=discard))

    def revoke(self, name: str) -> None:
        """Nobody gets in with it any more. Raises TokenNotFound."""
        self._run(lambda: self._twin().revoke(name))

    def get(self, name: str) -> KnownToken:
        """Raises TokenNotFound."""
        return self._run(lambda: self._twin().get(name))

    def list(self) -> "list[KnownToken]":
        """All, by name."""
        return self._run(lambda: self._twin().list())

    def own(self) -> OwnToken:
        """The client's own token, with its rights."""
        return self._run(lambda: self._twin().own())

    def can(
        self, action: str, *, topic: str | None = None, group: str | None = None, name: str | None = None
    ) -> TokenDecision:
        """Whether the client's own token, or the one of that name, may do this to the topic, the group, or the cluster
        where neither is named, and which right says so. Raises TokenNotFound."""
        return self._run(lambda: self._twin().can(action, topic=topic, group=group, name=name))
