"""Callers of SQS who sign nothing: certificates, and tokens that an issuer has signed."""

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.callers import Callers, Enforced
from app.auth.client_certificate import ClientCertificate
from app.auth.identities import Identities
from app.auth.principal import Principal
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import parse_token_table
from app.sqs.signature.sqs_callers import SqsCallers
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.stores.memory_store import MemoryStore
from tests.support.manual_clock import FIRST_WALL_MS, ManualClock
from tests.support.sqs_access import KEY_ID, SECRET, SqsGate

FILE = f"""
    [[tokens]]
    name = "signer"
    roles = ["viewer"]
    accessKeys = [{{ id = "{KEY_ID}", secret = "{SECRET}" }}]

    [[identities]]
    name = "billing"
    certificates = ["acklog://client/billing-*"]
    roles = ["viewer"]
"""
CERTIFICATE = ClientCertificate("acklog://client/billing-1", FIRST_WALL_MS + 1000)
HEADERS = ((b"host", b"queue.example.org"),)


@pytest.fixture
def gate() -> SqsGate:
    return SqsGate(parse_token_table(FILE.encode(), toml=True))


def admit(gate: SqsGate, certificate: ClientCertificate | None) -> Principal:
    return gate.sqs.claim_of("POST", b"/", b"", HEADERS, certificate=certificate)(b"")


async def test_a_certificate_counts_where_nothing_is_signed(gate: SqsGate) -> None:
    assert admit(gate, CERTIFICATE).name == "certificate:acklog://client/billing-1"
    for certificate in (None, ClientCertificate("acklog://client/others", FIRST_WALL_MS + 1000)):
        with pytest.raises(SqsError) as refused:
            admit(gate, certificate)
        assert refused.value.code is SqsErrorCode.MISSING_AUTHENTICATION_TOKEN
    await gate.clock.advance_ms(1000)
    with pytest.raises(SqsError) as refused:
        admit(gate, CERTIFICATE)
    assert refused.value.code is SqsErrorCode.EXPIRED_TOKEN


def test_a_signature_counts_alone(gate: SqsGate) -> None:
    """Good or not: who signs wants to be judged by that."""
    for signer, name in ((gate.signer(), "signer"), (gate.signer(secret="of somebody else"), None)):
        call = signer.signed()
        claim = gate.sqs.claim_of(call.method, call.raw_path, call.raw_query, call.headers, certificate=CERTIFICATE)
        if name is not None:
            assert claim(b"").name == name
            continue
        with pytest.raises(SqsError, match="does not match"):
            claim(b"")


class AwayIssuer:
    token_bytes_max = 4096

    def find(self, token: str, identities: Identities, now_ms: int) -> Principal | None:
        raise ServerError(ProblemCode.KEYS_UNAVAILABLE, "its keys are not known now", retry_after_ms=1500)


def test_where_an_issuer_s_keys_are_not_known_waiting_helps() -> None:
    clock = ManualClock()
    callers = Callers(
        parse_token_table(FILE.encode(), toml=True),
        StoredTokens(MetadataView(MemoryStore(clock), clock)),
        clock=clock,
        enforcement=Enforced(),
        signed=AwayIssuer(),
    )
    headers = (*HEADERS, (b"authorization", b"Bearer eyJhbGciOiJFUzI1NiJ9.e30.AAAA"))
    with pytest.raises(SqsError) as refused:
        SqsCallers(callers, clock).claim_of("POST", b"/", b"", headers)
    assert refused.value.code is SqsErrorCode.SERVICE_UNAVAILABLE
    assert refused.value.retry_after_ms == 1500
