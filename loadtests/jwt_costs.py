"""What it costs to find out who asks: `python -m loadtests.jwt_costs` asks as every request does, with a token of ours,
with a signed one that is remembered, and with signed ones that are seen for the first time.

It is processor time, so a machine that is busy with something else changes little.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric import ed25519
from rich.console import Console

from app.auth.callers import Callers, Enforced
from app.auth.client_certificate import ClientCertificate
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import parse_token_table
from app.configuration.jwt_options import JWT_ALGORITHMS
from app.jwt.expected_claims import ExpectedClaims
from app.jwt.issuer_tokens import IssuerTokens
from app.jwt.key_set import KeySet, parse_key_set
from app.jwt.refused_jwts import RefusedJwts
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.runtime import SteadyClock
from cluster.stores.memory_store import MemoryStore
from tests.support.local_issuer import PrivateKey, ec_key, jwk_of, rsa_key, signed_token

TOKEN = "a-token-of-ours-0123456789"
FILE = {
    "tokens": [{"name": "ours", "token": TOKEN, "roles": ["producer"], "topics": ["acme.*"]}],
    "identities": [
        {"name": "tenants", "claims": {"tenant": "*"}, "roles": ["producer"], "topics": ["{tenant}.*"]},
        {"name": "machines", "certificates": ["acklog://client/*"], "roles": ["producer"], "topics": ["acme.*"]},
    ],
}
KEYS: dict[str, PrivateKey] = {
    "RS256": rsa_key(),
    "ES256": ec_key(),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


class _PublishedKeys:
    def __init__(self) -> None:
        entries = [jwk_of(key, name) for name, key in KEYS.items()]
        self._keys = parse_key_set(json.dumps({"keys": entries}).encode())

    def keys(self) -> KeySet | None:
        return self._keys

    def wait_ms(self, key_id: str | None) -> int | None:
        return None

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


def callers() -> Callers:
    clock = SteadyClock()
    signed = IssuerTokens(
        _PublishedKeys(),
        ExpectedClaims(issuer="https://i", audiences=("acklog",), name_claim="sub", leeway_ms=0),
        algorithms=JWT_ALGORITHMS,
        token_bytes_max=8192,
        cached_max=10_000,
        refused=RefusedJwts(),
    )
    stored = StoredTokens(MetadataView(MemoryStore(clock), clock))
    table = parse_token_table(json.dumps(FILE).encode())
    return Callers(table, stored, clock=clock, enforcement=Enforced(), signed=signed)


def header(name: str, number: int) -> str:
    claims = {"iss": "https://i", "aud": "acklog", "sub": f"user-{number}", "tenant": "acme", "exp": 4_000_000_000}
    return f"Bearer {signed_token(claims, KEYS[name], name)}"


def cost_us(found: Callers, shown: Sequence[tuple[str | None, ClientCertificate | None]], *, rounds: int) -> float:
    """Of one question, in microseconds of the processor."""
    begun_ns = time.process_time_ns()
    for _ in range(rounds):
        for authorization, certificate in shown:
            found.of(authorization, certificate)
    return (time.process_time_ns() - begun_ns) / 1000 / rounds / len(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=500, help="of each kind")
    parser.add_argument("--rounds", type=int, default=50, help="how often those are shown that are known")
    options = parser.parse_args()
    found = callers()
    console = Console()
    ours = [(f"Bearer {TOKEN}", None)] * options.tokens
    console.print(f"a token of ours: {cost_us(found, ours, rounds=options.rounds):.1f} µs")
    machine = [(None, ClientCertificate("acklog://client/a", 4_000_000_000_000))] * options.tokens
    console.print(f"a certificate: {cost_us(found, machine, rounds=options.rounds):.1f} µs")
    for name in KEYS:
        shown = [(header(name, number), None) for number in range(options.tokens)]
        first = cost_us(found, shown, rounds=1)
        again = cost_us(found, shown, rounds=options.rounds)
        console.print(f"{name}: {first:.0f} µs for the first time, {again:.1f} µs when it is known")


if __name__ == "__main__":
    main()
