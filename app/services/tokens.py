"""Tokens that are kept in the coordination store, and what a token may do."""

from collections.abc import Sequence

import structlog
from msgspec import UNSET

from acklog.wire.problems import ProblemCode
from app.auth.deciding_right import deciding_on_cluster, deciding_on_group, deciding_on_topic
from app.auth.giving import require_giving
from app.auth.principal import Principal
from app.auth.right import EVERY, Effect, Right
from app.auth.stored_tokens import principal_of_stored
from app.auth.token_rights import token_rights
from app.auth.written_rights import RightEntryError
from app.calls.tokens import (
    DecisionView,
    NamesakeView,
    OwnTokenView,
    Resource,
    RightView,
    RotateFields,
    TokenFields,
    TokenListing,
    TokenMade,
    TokenView,
)
from app.gateway.dependencies import Gateway
from app.services.confirmations import Confirmations
from cluster.catalog.token_admin import no_token
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.stored_token import StoredToken, token_name_fault

NAMESAKES_TOLD_MAX = 100
"""Those that may something come first."""

logger = structlog.get_logger(__name__)


class TokenService:
    """Calls raise ServerError. All but a token's look at itself need the right to manage the cluster, also while rights
    are on trial: what is made here outlives the trial."""

    def __init__(self, gateway: Gateway) -> None:
        self._metadata = gateway.metadata
        self._stored = gateway.stored_tokens
        self._file = gateway.tokens
        self._clock = gateway.clock
        self._confirmations = Confirmations(gateway)

    async def create(self, fields: TokenFields, principal: Principal) -> TokenMade:
        """INVALID_NAME, INVALID_FIELD, TOKEN_EXISTS, TOO_MANY_TOKENS."""
        manager = _manager(principal)
        require_giving(manager, _rights_of(fields), until_ms=fields.expires_at)
        if self._file is not None and self._file.named(fields.name):
            detail = f"the tokens file has a token {fields.name!r}, and those of one name share their quotas"
            raise ServerError(ProblemCode.TOKEN_EXISTS, detail, field="name")
        if fields.expires_at is not None and fields.expires_at <= self._clock.now_ms():
            raise ServerError(ProblemCode.INVALID_FIELD, "is past already", field="expiresAt")
        wanted = StoredToken(
            id="",
            name=fields.name,
            created_at_ms=0,
            secrets=(),
            roles=tuple(fields.roles),
            rights=tuple(fields.rights),
            topics=fields.topics or EVERY,
            groups=fields.groups,
            expires_at_ms=fields.expires_at,
            requests_per_second=fields.requests_per_second,
            messages_per_second=fields.messages_per_second,
            bytes_per_second=fields.bytes_per_second,
        )
        made, shown = await self._stored.create(wanted)
        logger.info("token_created", token=made.name, by=manager.name)
        return TokenMade(token=str(shown), made=self._view(made))

    async def rotate(self, name: str, fields: RotateFields, principal: Principal) -> TokenMade:
        """TOKEN_NOT_FOUND, TOKEN_OVER, TOKEN_ROTATING."""
        manager = _manager(principal)
        token = await self._find(name)
        require_giving(manager, principal_of_stored(token).rights.rights, until_ms=token.expires_at_ms)
        grace_ms = None if fields.grace_seconds is None else fields.grace_seconds * 1000
        rotated, shown = await self._stored.rotate(token, grace_ms=grace_ms, discard=fields.discard)
        logger.info("token_rotated", token=name, by=manager.name, grace_seconds=fields.grace_seconds)
        return TokenMade(token=str(shown), made=self._view(rotated))

    async def revoke(self, name: str, principal: Principal) -> None:
        """TOKEN_NOT_FOUND."""
        manager = _manager(principal)
        await self._stored.revoke(name)
        logger.info("token_revoked", token=name, by=manager.name)

    def list_page(self, principal: Principal, *, limit: int, after: str) -> TokenListing:
        """By name."""
        _manager(principal)
        found = [each for each in self._metadata.tokens.all() if each.name > after]
        views = [self._view(each) for each in found[:limit]]
        return TokenListing(views, views[-1].name if len(found) > limit else None)

    async def describe(self, name: str, principal: Principal) -> TokenView:
        """TOKEN_NOT_FOUND."""
        _manager(principal)
        return self._view(await self._find(name))

    def describe_self(self, principal: Principal) -> OwnTokenView:
        expires_at = UNSET if principal.expires_at_ms is None else principal.expires_at_ms
        rights = [_right_view(each) for each in principal.rights.rights]
        return OwnTokenView(name=principal.name, rights=rights, expires_at=expires_at)

    def decide_self(self, action: Action, resource: Resource, principal: Principal) -> DecisionView:
        return _decision(principal, action, resource)

    async def decide(self, name: str, action: Action, resource: Resource, principal: Principal) -> DecisionView:
        """Of the stored token of that name, and beside it of those in the file. Where none is stored, the first of the
        file's that may is the token, and else the first. TOKEN_NOT_FOUND."""
        _manager(principal)
        in_file = [] if self._file is None else self._file.named(name)
        stored = self._metadata.tokens.find(name) if in_file else await self._find(name)
        found = [_decision(each, action, resource) for each in in_file]
        found.sort(key=lambda each: not each.allowed)
        if stored is not None:
            found.insert(0, _decision(principal_of_stored(stored), action, resource))
        decision, *others = found
        decision.namesakes = [NamesakeView(allowed=each.allowed, by=each.by) for each in others[:NAMESAKES_TOLD_MAX]]
        return decision

    async def _find(self, name: str) -> StoredToken:
        """Raises ServerError TOKEN_NOT_FOUND."""
        found = self._metadata.tokens.find(name)
        if found is None and token_name_fault(name) is None:  # another gateway may have made it a moment ago
            await self._confirmations.confirm_all(keys.stored_token(name), f"whether there is a token {name[:128]!r}")
            found = self._metadata.tokens.find(name)
        if found is None:
            raise no_token(name)
        return found

    def _view(self, token: StoredToken) -> TokenView:
        now_ms = self._clock.now_ms()
        earlier = [each.until_ms for each in token.secrets[1:] if each.is_good_at(now_ms)]
        view = TokenView(
            name=token.name,
            id=token.id,
            created_at=token.created_at_ms,
            expires_at=UNSET if token.expires_at_ms is None else token.expires_at_ms,
            roles=list(token.roles),
            rights=list(token.rights),
            topics=UNSET if token.topics == EVERY else token.topics,
            groups=UNSET if token.groups is None else token.groups,
            requests_per_second=UNSET if token.requests_per_second is None else token.requests_per_second,
            messages_per_second=UNSET if token.messages_per_second is None else token.messages_per_second,
            bytes_per_second=UNSET if token.bytes_per_second is None else token.bytes_per_second,
        )
        for until_ms in earlier:
            view.earlier_until = UNSET if until_ms is None else until_ms
        return view


def _manager(principal: Principal) -> Principal:
    """Raises ServerError FORBIDDEN."""
    manager = principal.strict()
    manager.require_on_cluster(Action.MANAGE)
    return manager


def _rights_of(fields: TokenFields) -> Sequence[Right]:
    """Raises ServerError INVALID_FIELD."""
    try:
        return token_rights(
            scopes=(),
            rights=fields.rights,
            roles=fields.roles,
            topics=fields.topics or EVERY,
            groups=fields.groups,
            known_roles={},
        )
    except RightEntryError as error:
        raise ServerError(ProblemCode.INVALID_FIELD, str(error), field=error.field) from None


def _right_view(right: Right) -> RightView:
    is_allowed = right.effect is Effect.ALLOW
    return RightView(
        source=right.source,
        allow=right.actions if is_allowed else UNSET,
        deny=UNSET if is_allowed else right.actions,
        topics=list(right.topics),
        groups=list(right.groups),
        cluster=right.is_for_cluster,
    )


def _decision(principal: Principal, action: Action, resource: Resource) -> DecisionView:
    rights = principal.rights.rights
    if resource.topic is not None:
        found, on = deciding_on_topic(rights, action, resource.topic), f"topic {resource.topic!r}"
    elif resource.group is not None:
        found, on = deciding_on_group(rights, action, resource.group), f"group {resource.group!r}"
    else:
        found, on = deciding_on_cluster(rights, action), "the cluster"
    by = UNSET if found.right is None else _right_view(found.right)
    return DecisionView(allowed=found.is_allowed, token=principal.name, action=action, resource=on, by=by)
