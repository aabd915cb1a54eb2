"""What a process has of signed tokens: those of an issuer, its keys and their figures; or none of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from prometheus_client.registry import Collector

from app.auth.callers import SignedTokens
from app.configuration.jwt_options import JwtOptions
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import where_to_set
from app.processes.reloads import InThread
from cluster.ports.clock import Clock


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Jwt:
    """`tokens` None: those of no issuer are taken, and nothing of it costs anything."""

    tokens: SignedTokens | None = None
    collectors: tuple[Collector, ...] = ()
    start: Callable[[], Awaitable[None]] = _nothing
    close: Callable[[], Awaitable[None]] = _nothing


def check_jwt(settings: Settings, options: JwtOptions) -> None:
    """Raises SettingsError."""
    if options.is_on and not settings.tokens_file:
        raise SettingsError(
            "jwt_issuer is given, so tokens_file is needed: its identities say what holders of the issuer's tokens may "
            f"do ({where_to_set('tokens_file')})"
        )


def jwt_of(settings: Settings, options: JwtOptions, *, clock: Clock, in_thread: InThread) -> Jwt:
    """As the settings want it. Nobody is asked before it is started. Raises SettingsError."""
    check_jwt(settings, options)
    if not options.is_on:
        return Jwt()
    # Loaded here: a server without an issuer has no use for what checks signatures.
    from app.jwt.expected_claims import ExpectedClaims
    from app.jwt.http_documents import HttpDocuments
    from app.jwt.issuer_tokens import IssuerTokens
    from app.jwt.key_figures import KeyFigures
    from app.jwt.key_file import read_key_file
    from app.jwt.key_ring import KeyRing, KeyRingSettings
    from app.jwt.key_source import source_of
    from app.jwt.key_watch import KeyWatch
    from app.jwt.refused_jwts import RefusedJwts

    timeout_ms = options.jwt_keys_timeout_ms
    ring = KeyRing(
        KeyRingSettings(
            refresh_ms=options.jwt_keys_refresh_ms,
            pause_ms=options.jwt_keys_pause_ms,
            good_ms=options.jwt_keys_good_ms,
        )
    )
    source = source_of(
        options,
        fetch=HttpDocuments(ca_file=options.jwt_ca_file, timeout_ms=timeout_ms, in_thread=in_thread),
        read_file=lambda path: in_thread(partial(read_key_file, path)),
    )
    watch = KeyWatch(ring, source, issuer=options.jwt_issuer, clock=clock, timeout_ms=timeout_ms)
    expected = ExpectedClaims(
        issuer=options.jwt_issuer,
        audiences=options.audiences,
        name_claim=options.jwt_name_claim,
        leeway_ms=options.jwt_leeway_ms,
    )
    refused = RefusedJwts()
    tokens = IssuerTokens(
        watch,
        expected,
        algorithms=options.algorithms,
        token_bytes_max=options.jwt_token_bytes_max,
        cached_max=options.jwt_cached_tokens_max,
        refused=refused,
    )
    return Jwt(tokens, (KeyFigures(ring, clock=clock), refused), watch.start, watch.close)
