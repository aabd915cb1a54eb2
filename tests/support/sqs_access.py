"""A table with tokens that have access keys, and who calls by them."""

import json
from collections.abc import Mapping, Sequence

from app.auth.callers import Callers, Enforced, Enforcement
from app.auth.principal import Principal
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import TokenTable, parse_token_table
from app.sqs.signature.sqs_callers import SqsCallers
from cluster.metadata.metadata_view import MetadataView
from cluster.stores.memory_store import MemoryStore
from tests.support.aws_signer import AwsSigner, SignedCall
from tests.support.manual_clock import ManualClock

KEY_ID, SECRET = "AKIDEXAMPLE00000", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BEARER = "a-token-0123456789"


def table_of(
    access_keys: Sequence[tuple[str, str]] = ((KEY_ID, SECRET),), *, name: str = "billing", **entry: object
) -> TokenTable:
    keys = [{"id": key_id, "secret": secret} for key_id, secret in access_keys]
    token: Mapping[str, object] = {"name": name, "token": BEARER, "roles": ["consumer"], **entry}
    return parse_token_table(json.dumps({"tokens": [{**token, "accessKeys": keys}]}).encode())


class SqsGate:
    """What lets callers of SQS in, on a clock that stands still."""

    def __init__(self, table: TokenTable | None, enforcement: Enforcement | None = None) -> None:
        self.clock = ManualClock()
        stored = StoredTokens(MetadataView(MemoryStore(self.clock), self.clock))
        self.callers = Callers(table, stored, clock=self.clock, enforcement=enforcement or Enforced())
        self.sqs = SqsCallers(self.callers, self.clock)

    def signer(
        self,
        key_id: str = KEY_ID,
        secret: str = SECRET,
        *,
        later_ms: int = 0,
        region: str = "eu-central-1",
        service: str = "sqs",
        session_token: str | None = None,
    ) -> AwsSigner:
        now_ms = self.clock.now_ms() + later_ms
        return AwsSigner(key_id, secret, now_ms=now_ms, region=region, service=service, session_token=session_token)

    def admit(self, call: SignedCall) -> Principal:
        return self.sqs.claim_of(call.method, call.raw_path, call.raw_query, call.headers)(call.body)
