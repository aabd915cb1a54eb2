"""What an answer says of what went wrong, as far as a record tells it."""

import msgspec

from acklog.wire.problems import ProblemCode
from app.audit.audit_record import shown


class ProblemFacts(msgspec.Struct, frozen=True):
    """Of a problem document; empty where the answer is none. `field` is one that there is: the name of one that is not
    known may be anything."""

    code: str = ""
    field: str = ""
    detail: str = ""


_decoder = msgspec.json.Decoder(ProblemFacts)


def problem_facts(status: int, body: bytes) -> ProblemFacts:
    if status < 400 or not body:
        return ProblemFacts()
    try:
        found = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ProblemFacts()
    field = "" if found.code == ProblemCode.UNKNOWN_FIELD.name else found.field
    return ProblemFacts(shown(found.code), shown(field), shown(found.detail))
