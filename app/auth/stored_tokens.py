"""Tokens of the coordination store: those that this gateway's view of it shows."""

from collections.abc import Callable

import structlog

from app.auth.principal import Principal, PrincipalKind, TokenQuotas
from app.auth.rights import rights_of
from app.auth.token_rights import token_rights
from app.auth.written_rights import RightEntryError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.stored_token import StoredToken, parse_shown_token, secret_of

PRINCIPALS_KNOWN_MAX = 10_000
"""Whose rights are kept ready. One more, and all are made anew as they come."""

_log = structlog.get_logger(__name__)


class StoredTokens:
    """The id, which is no secret, is looked up, and the digest of the secret compared in constant time; for an id that
    is not known another digest is, so that time tells as little."""

    def __init__(self, view: MetadataView) -> None:
        self._view = view
        self._principals: dict[str, tuple[StoredToken, Principal]] = {}
        self._nobodys = secret_of("", "")

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it after every change of them; returns how to stop that."""
        return self._view.subscribe_to_tokens(listener)

    def find(self, text: str, now_ms: int) -> Principal | None:
        """Whose token this is; None where it is none that is good now."""
        shown = parse_shown_token(text)
        if shown is None:
            return None
        token = self._view.tokens.by_id(shown.id)
        if token is None:
            self._nobodys.is_of(shown.secret)
            return None
        return self._principal(token) if token.accepts(shown.secret, now_ms) else None

    def _principal(self, token: StoredToken) -> Principal:
        known = self._principals.get(token.id)
        if known is not None and known[0] is token:
            return known[1]
        if known is None and len(self._principals) >= PRINCIPALS_KNOWN_MAX:
            self._principals.clear()
        principal = principal_of_stored(token)
        self._principals[token.id] = token, principal
        return principal


def principal_of_stored(token: StoredToken) -> Principal:
    """What it may do: nothing, where its rights say nothing that this version understands."""
    try:
        rights = token_rights(
            scopes=(),
            rights=token.rights,
            roles=token.roles,
            topics=token.topics,
            groups=token.groups,
            known_roles={},
        )
    except RightEntryError as error:
        _log.error("stored_token_has_no_rights", token=token.name, reason=str(error))
        rights = ()
    quotas = TokenQuotas(
        requests_per_second=token.requests_per_second,
        messages_per_second=token.messages_per_second,
        bytes_per_second=token.bytes_per_second,
    )
    return Principal(
        token.name,
        rights_of(rights),
        None if quotas == TokenQuotas() else quotas,
        token.expires_at_ms,
        PrincipalKind.STORED,
        token.id,
    )
