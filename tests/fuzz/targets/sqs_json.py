"""Bodies of the calls of SQS, as JSON."""

import msgspec

from app.sqs.protocol.json_input import operation_of, parse_json
from app.sqs.sqs_error import SqsError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of
from tests.fuzz.sqs_refusal import check_refusal

_SEEDS = (
    joined(b"AmazonSQS.ListQueues", b""),
    joined(b"AmazonSQS.CreateQueue", b'{"QueueName":"a","Attributes":{"DelaySeconds":"5"},"tags":{"a":"b"}}'),
    joined(
        b"AmazonSQS.SendMessage",
        b'{"QueueUrl":"u","MessageBody":"\\u00e9","DelaySeconds":5,"MessageAttributes":{"a":{"DataType":"Binary",'
        b'"BinaryValue":"AP8="}}}',
    ),
    joined(b"AmazonSQS.SendMessageBatch", b'{"Entries":[{"Id":"a","MessageBody":"b"},{"Id":null}]}'),
    joined(b"AmazonSQS.ReceiveMessage", b'{"AttributeNames":["All"],"MaxNumberOfMessages":1e400}'),
    joined(b"AmazonSQS.Publish", b"{}"),
)


def _read(data: bytes) -> None:
    target, body = parts_of(data, 2)
    try:
        operation = operation_of(text_of(target))
        asked = parse_json(operation, body)
    except SqsError as error:
        check_refusal(error)
        raise
    assert parse_json(operation, msgspec.json.encode(asked)) == asked


TARGET = FuzzTarget(_read, (SqsError,), lambda: _SEEDS)
