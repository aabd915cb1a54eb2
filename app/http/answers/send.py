"""The answer to a send. A batch's results are put together as text: a dictionary per message would cost more than
everything else that a message costs."""

import msgspec

from app.calls.problem_item import ProblemItem, problem_item
from app.calls.send_result import Placed, ScheduledPlace, SendResult
from app.http.exchange.problems import problem_response
from app.http.exchange.responses import BytesResponse, json_text_response

_encode = msgspec.json.Encoder().encode


def send_response(result: SendResult) -> BytesResponse:
    """201 (202 for `acks` 0) when all were stored, 207 when some were, the first fault's status when none was."""
    if not result.faults:
        status = 202 if result.acks == 0 else 201
    elif len(result.faults) < result.count:
        status = 207
    elif not result.is_batch:
        return problem_response(result.first_fault)
    else:
        fault = result.first_fault
        fault.extra = {**fault.extra, "failed": result.count, "results": _items(result)}
        return problem_response(fault)
    texts = _texts(result)
    created = ',"topicCreated":true' if result.is_topic_created else ""
    if not result.is_batch:
        return json_text_response(f"{texts[0][:-1]}{created}}}\n".encode(), status)
    # A batch's answer is long: it is put together in one go.
    texts[0] = '{"results":[' + texts[0]
    texts[-1] += f'],"failed":{len(result.faults)}{created}}}\n'
    return json_text_response(",".join(texts).encode(), status)


def _texts(result: SendResult) -> list[str]:
    """A JSON object per message, in the request's order."""
    texts = [""] * result.count
    for indexes, first in result.runs:
        _put_run(indexes, first, result.topic.id, texts)
    for indexes, scheduled, due in result.scheduled:
        _put_scheduled(indexes, scheduled, due, result.topic.id, texts)
    for index, fault in result.faults.items():
        texts[index] = _encode(problem_item(fault)).decode()
    return texts


def placed_text(topic_id: str, placed: Placed) -> str:
    """The JSON object of one message that was stored there."""
    partition, epoch, offset = placed
    # Topic ids are of base32 digits, so nothing here needs escaping.
    return f'{{"messageId":"m-{topic_id}-{partition}-{epoch}-{offset}","partition":{partition},"offset":{offset}}}'


def _put_run(indexes: list[int], first: Placed, topic_id: str, texts: list[str]) -> None:
    partition, epoch, offset = first
    if offset < 0:
        text = f'{{"messageId":null,"partition":{partition},"offset":null}}'
        for index in indexes:
            texts[index] = text
        return
    # As `placed_text` has it, with what is the same for all put together once.
    before = f'{{"messageId":"m-{topic_id}-{partition}-{epoch}-'
    between = f'","partition":{partition},"offset":'
    for index, digits in zip(indexes, map(str, range(offset, offset + len(indexes))), strict=True):
        texts[index] = f"{before}{digits}{between}{digits}}}"


def _put_scheduled(
    indexes: list[int], first: ScheduledPlace, due: list[int | None], topic_id: str, texts: list[str]
) -> None:
    """The message has no place among the others yet. `deliverAt` is null where the message was sent before: it may have
    been moved since."""
    partition, epoch, offset, _ = first
    for place, index in enumerate(indexes):
        name = f'"s-{topic_id}-{partition}-{epoch}-{offset + place}"' if offset >= 0 else "null"
        at = due[place] if place < len(due) else None
        texts[index] = (
            f'{{"messageId":null,"scheduleId":{name},"partition":{partition},"offset":null,'
            f'"deliverAt":{"null" if at is None else at}}}'
        )


def _items(result: SendResult) -> list[ProblemItem]:
    return [problem_item(result.faults[index]) for index in range(result.count)]
