"""What a message says of where it comes from, in headers that Acklog itself gives to dead letters, and to what is sent
by calls of SQS: others go by these, so whoever writes them may do so only where it is theirs to say (rule R39)."""

from acklog.wire.identifiers import parse_message_id, parse_schedule_id
from acklog.wire.letter_headers import FIRST_ID, MESSAGE_ID, SOURCE
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.claimed_headers import SENDER
from app.calls.send import Outgoing, Produce
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.action import Action

_IDS = (FIRST_ID, MESSAGE_ID)


def refuse_claims(produce: Produce, principal: Principal, metadata: MetadataView) -> None:
    """Put a fault in the place of each message that says what its sender may not."""
    if produce.plain_keys() is not None or principal.strict().may_on_every_topic(Action.SEND):
        return
    for place, message in enumerate(produce.messages):
        if isinstance(message, Outgoing) and message.record.headers:
            try:
                check_claims(message.record.headers, principal, metadata)
            except ServerError as fault:
                produce.messages[place] = fault.with_traceback(None)


def check_claims(headers: dict[str, str], principal: Principal, metadata: MetadataView) -> None:
    """A letter is of a topic that its sender may send to, and was sent first by who sends it. Raises ServerError
    FORBIDDEN."""
    if SOURCE in headers:
        principal.require_on_topic(Action.SEND, headers[SOURCE])
    for name in _IDS:
        topic = metadata.topic_by_id(_topic_id_in(headers[name])) if name in headers else None
        if topic is not None and principal.refuses_topic(Action.SEND, topic.name):
            detail = f"the header {name!r} names a message of a topic that the token may not send to"
            raise ServerError(ProblemCode.FORBIDDEN, detail, field="headers")
    if headers.get(SENDER, principal.name) != principal.name and principal.refuses_every_topic(Action.SEND):
        detail = f"the header {SENDER!r} names another sender"
        raise ServerError(ProblemCode.FORBIDDEN, detail, field="headers")


def _topic_id_in(text: str) -> str:
    found = parse_message_id(text) or parse_schedule_id(text)
    return "" if found is None else found.topic_id
