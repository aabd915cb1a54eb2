"""Keys by HTTP and from a file: what is taken, and what is not, of an issuer that may answer anything."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.configuration.jwt_options import JwtOptions
from app.jwt.http_documents import HttpDocuments
from app.jwt.key_file import read_key_file
from app.jwt.key_set import KEY_SET_BYTES_MAX
from app.jwt.key_source import WELL_KNOWN, KeySource, KeySourceError, source_of
from tests.support.authority import OwnAuthority
from tests.support.local_issuer import KEYS_PATH, LocalIssuer, local_issuer

TIMEOUT_MS = 2_000


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    with local_issuer() as issuer:
        yield issuer


def source(issuer: LocalIssuer, **options: object) -> KeySource:
    given = JwtOptions(jwt_issuer=issuer.url, jwt_audience="acklog", **options)  # type: ignore[arg-type]
    return source_of(
        given,
        fetch=HttpDocuments(ca_file=given.jwt_ca_file, timeout_ms=TIMEOUT_MS, in_thread=asyncio.to_thread),
        read_file=lambda path: asyncio.to_thread(partial(read_key_file, path)),
    )


async def refusal_of(found: KeySource) -> str:
    with pytest.raises(KeySourceError) as refused:
        await found()
    return str(refused.value)


async def test_discovered_by_url_and_in_a_file(issuer: LocalIssuer, tmp_path: Path) -> None:
    assert await source(issuer)() == issuer.key_set()
    assert issuer.asked == [WELL_KNOWN, KEYS_PATH]
    issuer.asked.clear()
    assert await source(issuer, jwt_keys_url=issuer.keys_url)() == issuer.key_set()
    assert issuer.asked == [KEYS_PATH]
    file = tmp_path / "keys.json"
    file.write_bytes(issuer.key_set())
    assert await source(issuer, jwt_keys_file=str(file))() == issuer.key_set()


async def test_the_issuer_is_the_one_that_was_meant(issuer: LocalIssuer) -> None:
    other = json.dumps({"issuer": "https://evil.example.org", "jwks_uri": issuer.keys_url}).encode()
    issuer.answers[WELL_KNOWN] = (200, {}, other)
    assert "is of the issuer 'https://evil.example.org'" in await refusal_of(source(issuer))


@pytest.mark.parametrize("uri", ["http://keys.example.org/", "file:///etc/passwd", "", "ftp://x/", "https://u:p@x/"])
async def test_keys_are_asked_for_by_https(issuer: LocalIssuer, uri: str) -> None:
    issuer.answers[WELL_KNOWN] = (200, {}, json.dumps({"issuer": issuer.url, "jwks_uri": uri}).encode())
    assert "jwks_uri" in await refusal_of(source(issuer))
    assert issuer.asked == [WELL_KNOWN]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"issuer": 5, "jwks_uri": 5}', b"[" * 10_000])
async def test_a_broken_configuration(issuer: LocalIssuer, content: bytes) -> None:
    issuer.answers[WELL_KNOWN] = (200, {}, content)
    assert "is no OpenID configuration" in await refusal_of(source(issuer))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirections_are_not_followed(issuer: LocalIssuer, status: int) -> None:
    issuer.answers[KEYS_PATH] = (status, {"Location": f"{issuer.url}/elsewhere"}, b"")
    issuer.answers["/elsewhere"] = (200, {}, issuer.key_set())
    assert f"answers {status}, and redirections are not followed" in await refusal_of(source(issuer))
    assert "/elsewhere" not in issuer.asked


@pytest.mark.parametrize("status", [204, 400, 404, 500, 503])
async def test_other_answers(issuer: LocalIssuer, status: int) -> None:
    issuer.answers[KEYS_PATH] = (status, {}, issuer.key_set() if status != 204 else b"")
    assert f"answers {status}" in await refusal_of(source(issuer, jwt_keys_url=issuer.keys_url))


async def test_no_more_is_read_than_may_be(issuer: LocalIssuer, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    for found in (source(issuer, jwt_keys_url=issuer.keys_url), source(issuer, jwt_keys_file=str(file))):
        for size, is_read in ((KEY_SET_BYTES_MAX, True), (KEY_SET_BYTES_MAX + 1, False)):
            issuer.answers[KEYS_PATH] = (200, {}, b"x" * size)
            file.write_bytes(b"x" * size)
            if is_read:
                assert len(await found()) == size
            else:
                assert f"more than {KEY_SET_BYTES_MAX} bytes" in await refusal_of(found)


async def test_an_issuer_that_does_not_answer(issuer: LocalIssuer) -> None:
    issuer.is_silent = True
    assert f"does not answer within {TIMEOUT_MS} ms" in await refusal_of(source(issuer))
    issuer.let_go.set()
    issuer.is_silent, issuer.is_away = False, True
    assert "cannot be read" in await refusal_of(source(issuer))


async def test_an_issuer_has_to_be_believed(tmp_path: Path) -> None:
    authority, other = OwnAuthority(tmp_path / "pki"), OwnAuthority(tmp_path / "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    files = authority.issue("server")
    context.load_cert_chain(files.certificate, files.key)
    with local_issuer(context) as issuer:
        assert issuer.url.startswith("https://")
        assert await source(issuer, jwt_ca_file=str(authority.ca_file))() == issuer.key_set()
        for trusted in ("", str(other.ca_file)):
            assert "cannot be read" in await refusal_of(source(issuer, jwt_ca_file=trusted))
        assert "cannot be read" in await refusal_of(source(issuer, jwt_ca_file=str(tmp_path / "none.pem")))
        assert len(issuer.asked) == 2


async def test_nobody_listens_and_no_file(issuer: LocalIssuer, tmp_path: Path) -> None:
    with local_issuer() as gone:
        url = gone.keys_url
    assert "cannot be read" in await refusal_of(source(issuer, jwt_keys_url=url))
    assert "No such file" in await refusal_of(source(issuer, jwt_keys_file=str(tmp_path / "none.json")))
