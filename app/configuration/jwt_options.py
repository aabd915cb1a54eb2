"""Whose signed tokens (JWT, RFC 7519) a server takes, and where the keys are that these are signed with."""

from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from app.configuration.loopback import is_loopback
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import check_fields, number, text, texts, where_to_set

JWT_ALGORITHMS = (
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
    "EdDSA",
)
"""All of them have a private key and a public one. With a key that both sides have (HS256 and its like) whoever checks
tokens could make them, and a public key that is taken for such a key lets everybody make them."""

AUDIENCES_MAX = 16
_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtOptions:
    """Where there is no issuer none are taken. What their holders may do is in the tokens file."""

    jwt_issuer: str = text("", "who signs the tokens that are taken beside ours (their claim iss); empty: nobody")
    jwt_audience: str = texts("", "whom they are for, separated by commas: their claim aud names one of these")
    jwt_keys_url: str = text(
        "", "URL of the issuer's keys (a JWKS); empty: found by ISSUER/.well-known/openid-configuration"
    )
    jwt_keys_file: str = text("", "file of the issuer's keys (a JWKS), in the place of a URL")
    jwt_ca_file: str = text(
        "", "PEM file of the authorities that the issuer's certificate is signed by; empty: those of the system"
    )
    jwt_algorithms: str = texts(",".join(JWT_ALGORITHMS), "what they may be signed with, separated by commas")
    jwt_name_claim: str = text("sub", "claim that names the caller, as jwt:NAME")
    jwt_leeway_ms: int = number(30_000, 0, 5 * _MINUTE_MS, "by how much the issuer's clock may differ from ours")
    jwt_token_bytes_max: int = number(8_192, 256, 65_536, "bytes of such a token")
    jwt_keys_refresh_ms: int = number(
        5 * _MINUTE_MS, _SECOND_MS, 24 * _HOUR_MS, "how often the issuer is asked for its keys"
    )
    jwt_keys_pause_ms: int = number(
        10_000, 100, _HOUR_MS, "least time between two such looks, after a failure or for a key that is not known"
    )
    jwt_keys_good_ms: int = number(
        6 * _HOUR_MS, _SECOND_MS, 7 * 24 * _HOUR_MS, "how long keys are good when the issuer cannot be asked"
    )
    jwt_keys_timeout_ms: int = number(5_000, 100, _MINUTE_MS, "how long the issuer may take to answer")
    jwt_cached_tokens_max: int = number(10_000, 1, 1_000_000, "tokens that are remembered as good until they end")

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.is_on:
            _without_issuer(self)
            return
        self._check_audiences()
        self._check_algorithms()
        self._check_places()
        if not self.jwt_name_claim:
            raise SettingsError(f"jwt_name_claim is empty, it must name a claim ({where_to_set('jwt_name_claim')})")
        if self.jwt_keys_good_ms < self.jwt_keys_refresh_ms:
            raise SettingsError(
                f"jwt_keys_good_ms is {self.jwt_keys_good_ms}, it may not be below jwt_keys_refresh_ms, which is "
                f"{self.jwt_keys_refresh_ms}: keys would end before the next look at them"
            )

    @property
    def is_on(self) -> bool:
        return bool(self.jwt_issuer)

    @property
    def audiences(self) -> tuple[str, ...]:
        return _listed(self.jwt_audience)

    @property
    def algorithms(self) -> tuple[str, ...]:
        return _listed(self.jwt_algorithms)

    def _check_audiences(self) -> None:
        if not self.audiences:
            raise SettingsError(
                f"jwt_issuer is given, so jwt_audience is needed ({where_to_set('jwt_audience')}): without it every "
                "token of the issuer would be taken, also those for others"
            )
        if len(self.audiences) > AUDIENCES_MAX:
            raise SettingsError(f"jwt_audience names {len(self.audiences)} audiences, the limit is {AUDIENCES_MAX}")

    def _check_algorithms(self) -> None:
        wrong = [each for each in self.algorithms if each not in JWT_ALGORITHMS]
        if wrong or not self.algorithms:
            raise SettingsError(
                f"jwt_algorithms is {self.jwt_algorithms!r}, it may be some of {', '.join(JWT_ALGORITHMS)}"
            )

    def _check_places(self) -> None:
        if self.jwt_keys_url and self.jwt_keys_file:
            raise SettingsError("jwt_keys_url and jwt_keys_file are two places for the same keys: give one")
        if self.jwt_keys_file:
            if self.jwt_ca_file:
                raise SettingsError(f"jwt_ca_file means nothing with jwt_keys_file ({where_to_set('jwt_ca_file')})")
            return
        name = "jwt_keys_url" if self.jwt_keys_url else "jwt_issuer"
        fault = url_fault(self.jwt_keys_url or self.jwt_issuer)
        if fault is not None:
            detail = "" if self.jwt_keys_url else "; or give jwt_keys_url or jwt_keys_file"
            raise SettingsError(f"{name} {fault}{detail} ({where_to_set(name)})")


def url_fault(url: str) -> str | None:
    """Why keys are not asked for there; None where they may be: whoever stands in between could give others."""
    try:
        parts = urlsplit(url)
        host, is_url = parts.hostname or "", parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        host, is_url = "", False
    if not is_url or not host:
        return f"is {url[:200]!r}, it must be a URL such as https://login.example.org"
    if parts.username is not None or parts.fragment:
        return "has a user or a fragment, and may have neither"
    if parts.scheme == "http" and not is_loopback(host):
        return f"is {url[:200]!r}, it must be https: http is taken from this machine alone"
    return None


def _listed(names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip() for each in names.split(",") if each.strip()))


def _without_issuer(options: JwtOptions) -> None:
    """What was meant to restrict or to find something, and does nothing. Raises SettingsError."""
    for name in ("jwt_audience", "jwt_keys_url", "jwt_keys_file", "jwt_ca_file"):
        if getattr(options, name):
            raise SettingsError(f"{name} means nothing without jwt_issuer ({where_to_set('jwt_issuer')})")


JWT_GROUPS = {"Whose signed tokens it takes": tuple(each.name for each in fields(JwtOptions))}
