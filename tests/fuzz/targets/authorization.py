"""Who asks: the `Authorization` header, and tokens of the coordination store that it may show."""

from typing import cast

from acklog.wire.problems import ProblemCode
from app.auth.callers import Callers, Enforced
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import parse_token_table
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.stored_token import ShownToken, StoredToken, secret_of
from cluster.ports.coordination import Changed, KeyValue
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import text_of
from tests.support.manual_clock import ManualClock
from tests.support.memory_gateway import MemoryMetadata

_FILE_TOKEN = "a token of the file, for tests"
_SHOWN = ShownToken("0123456789abc", "k" * 52)
_SEEDS = (
    f"Bearer {_FILE_TOKEN}".encode(),
    f"bearer {_SHOWN}".encode(),
    b"Basic dXNlcjpwYXNzd29yZA==",
    b"Bearer ak_0123456789abc_" + b"0" * 52,
    b"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA",
)


def _callers() -> Callers:
    secrets = (secret_of(_SHOWN.secret, "salt"),)
    stored = StoredToken(id=_SHOWN.id, name="stored", created_at_ms=0, secrets=secrets, roles=("viewer",))
    metadata = MemoryMetadata()
    metadata.see(Changed(KeyValue(keys.stored_token(stored.name), encode(stored), 1, 1, 1)))
    table = parse_token_table(
        f'{{"tokens": [{{"name": "file", "token": "{_FILE_TOKEN}", "roles": ["viewer"]}}]}}'.encode()
    )
    return Callers(table, StoredTokens(cast(MetadataView, metadata)), clock=ManualClock(), enforcement=Enforced())


_CALLERS = _callers()
_KNOWN = {_FILE_TOKEN: "file", str(_SHOWN): "stored"}


def _read(data: bytes) -> None:
    header = text_of(data)
    try:
        principal = _CALLERS.of(header)
    except ServerError as error:
        assert error.code is ProblemCode.UNAUTHENTICATED
        raise
    assert principal.name == _KNOWN[header[len("bearer ") :].strip()]


TARGET = FuzzTarget(_read, (ServerError,), lambda: _SEEDS)
