"""What a request to send came to, in a form that two ways of reading it can be compared by."""

from app.calls.send import Outgoing, Produce, record_of
from app.http.exchange.turns import Steps, at_once
from cluster.errors import ServerError

REFUSED = "refused"


def outcome_of(steps: Steps[Produce]) -> object:
    """Of a request that is refused only that it is: large ones may have another fault found first. Raises ServerError
    for what is no fault of the text."""
    try:
        return content_of(at_once(steps))
    except ServerError as error:
        if error.code.status == 400:
            return REFUSED
        return error.code


def content_of(command: Produce) -> object:
    messages = [
        (each.code, each.field) if isinstance(each, ServerError) else (record_of(each), _place_of(each))
        for each in command.messages
    ]
    return command.queue, command.acks, command.is_batch, messages


def _place_of(message: object) -> object:
    if not isinstance(message, Outgoing):
        return None
    return message.partition, message.dedup_id, message.is_at_once
