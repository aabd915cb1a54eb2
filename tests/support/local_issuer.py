"""An identity provider on this machine: it signs tokens, and answers who asks for its keys over HTTP."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from app.jwt.key_source import WELL_KNOWN

AUDIENCE = "acklog"
KEYS_PATH = "/keys"
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=bits)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


def jwk_of(key: PrivateKey, key_id: str | None, **members: object) -> dict[str, Any]:
    """The public part, as an issuer publishes it."""
    algorithm: Any = RSAAlgorithm
    if isinstance(key, ec.EllipticCurvePrivateKey):
        algorithm = ECAlgorithm
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        algorithm = OKPAlgorithm
    found = algorithm.to_jwk(key.public_key(), as_dict=True)
    found.pop("key_ops", None)
    return {**found, **({} if key_id is None else {"kid": key_id}), **members}


def encoded(part: object) -> str:
    """A part of a token."""
    content = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def algorithm_of(key: PrivateKey) -> str:
    if isinstance(key, rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    return {256: "ES256", 384: "ES384", 521: "ES512"}[key.curve.key_size]


def signed_token(
    claims: Mapping[str, object], key: PrivateKey, key_id: str | None, header: Mapping[str, object] | None = None
) -> str:
    headers = {**({} if key_id is None else {"kid": key_id}), **(header or {})}
    return jwt.encode(dict(claims), key, algorithm=algorithm_of(key), headers=headers)


class LocalIssuer:
    """`keys` are those that it publishes and signs with, by id. `answers` are what it says at a path in the place of
    that: a status, headers and a body. While it `is_away` it ends each connection without an answer, while it
    `is_silent` it keeps it open. `asked` are the paths that were asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, PrivateKey] = {"first": ec_key()}
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.is_away = False
        self.is_silent = False
        self.asked: list[str] = []
        self.let_go = threading.Event()

    @property
    def keys_url(self) -> str:
        return self.url + KEYS_PATH

    def key_set(self) -> bytes:
        return json.dumps({"keys": [jwk_of(key, key_id) for key_id, key in self.keys.items()]}).encode()

    def claims(self, **changes: object) -> dict[str, object]:
        """Good for an hour. A change to None leaves the claim out."""
        now_s = int(time.time())
        claims = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "iat": now_s, "exp": now_s + 3600, **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key_id: str = "first", **changes: object) -> str:
        return signed_token(self.claims(**changes), self.keys[key_id], key_id)

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        if path == WELL_KNOWN:
            return 200, {}, json.dumps({"issuer": self.url, "jwks_uri": self.keys_url}).encode()
        return (200, {}, self.key_set()) if path == KEYS_PATH else (404, {}, b"")


@contextmanager
def local_issuer(tls: ssl.SSLContext | None = None) -> Iterator[LocalIssuer]:
    """With `tls` it is called by https."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    issuer = LocalIssuer(f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}")
    server.issuer = issuer  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        issuer: LocalIssuer = self.server.issuer  # type: ignore[attr-defined]
        self.close_connection = True
        if issuer.is_silent:
            issuer.asked.append(self.path)
            issuer.let_go.wait()
            return
        if issuer.is_away:
            issuer.asked.append(self.path)
            return
        status, headers, body = issuer.answer(self.path)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Tests say what went wrong themselves."""
