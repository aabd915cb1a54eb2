"""Requests that are signed as an SDK of AWS signs them: by botocore, which is no work of ours."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import urlsplit

import botocore.auth
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

HOST = "queue.example.org:8080"


@dataclass(frozen=True, slots=True)
class SignedCall:
    """As it arrives."""

    method: str
    raw_path: bytes
    raw_query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def header(self, name: str) -> bytes:
        [value] = [value for each, value in self.headers if each == name.encode()]
        return value

    def with_header(self, name: str, value: bytes) -> "SignedCall":
        """With another value, or with a header more."""
        kept = tuple(each for each in self.headers if each[0] != name.encode())
        return replace(self, headers=(*kept, (name.encode(), value)))

    def without_header(self, name: str) -> "SignedCall":
        return replace(self, headers=tuple(each for each in self.headers if each[0] != name.encode()))


class AwsSigner:
    def __init__(
        self,
        key_id: str,
        secret: str,
        *,
        now_ms: int,
        region: str = "eu-central-1",
        service: str = "sqs",
        session_token: str | None = None,
    ) -> None:
        self._credentials = Credentials(key_id, secret, session_token)
        self._now = datetime.fromtimestamp(now_ms / 1000, UTC)
        self._region = region
        self._service = service

    def signed(
        self,
        method: str = "POST",
        path: str = "/",
        query: str = "",
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
    ) -> SignedCall:
        signer = SigV4Auth(self._credentials, self._service, self._region)
        return self._made(signer, method, path, query, headers, body)

    def presigned(
        self,
        method: str = "GET",
        path: str = "/",
        query: str = "",
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        expires_seconds: int = 3600,
    ) -> SignedCall:
        signer = SigV4QueryAuth(self._credentials, self._service, self._region, expires=expires_seconds)
        return self._made(signer, method, path, query, headers, body)

    def _made(
        self,
        signer: SigV4Auth,
        method: str,
        path: str,
        query: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
    ) -> SignedCall:
        url = f"http://{HOST}{path}?{query}" if query else f"http://{HOST}{path}"
        request = AWSRequest(method, url, data=body)
        for name, value in headers:
            request.headers[name] = value
        with patch.object(botocore.auth, "get_current_datetime", lambda: self._now):
            signer.add_auth(request)
        sent = [("host", HOST), *request.headers.items()]
        parts = urlsplit(request.url)
        return SignedCall(
            method,
            parts.path.encode(),
            parts.query.encode(),
            tuple((name.lower().encode(), value.encode("latin-1")) for name, value in sent),
            body,
        )
