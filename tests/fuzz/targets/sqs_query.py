"""Forms of the query protocol of SQS, against the library's way to read a form."""

from urllib.parse import unquote_to_bytes, urlencode

from app.http.exchange.turns import at_once
from app.sqs.protocol.form import form_steps
from app.sqs.protocol.query_input import action_of, parse_query
from app.sqs.sqs_error import SqsError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.sqs_refusal import check_refusal

_SEEDS = (
    b"Action=ListQueues&Version=2012-11-05&QueueNamePrefix=a%2Fb+c&MaxResults=5",
    b"Action=CreateQueue&QueueName=a&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=a&Tag.1.Value=",
    b"Action=SendMessage&MessageBody=%C3%A9&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=Binary"
    b"&MessageAttribute.1.Value.BinaryValue=AP8%3D",
    b"Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=b"
    b"&SendMessageBatchRequestEntry.7.Id=a&SendMessageBatchRequestEntry.7.DelaySeconds=-5",
    b"Action=GetQueueAttributes&AttributeName=All&&=&AttributeName.x=1",
    b"Action=Publish",
)


def _naive(form: bytes) -> dict[str, str]:
    """Each parameter as a whole."""
    pairs = [part.replace(b"+", b" ").partition(b"=") for part in form.split(b"&") if part]
    return {unquote_to_bytes(name).decode(): unquote_to_bytes(value).decode() for name, _, value in pairs}


def _read(data: bytes) -> None:
    try:
        fields = at_once(form_steps(data))
        assert fields == _naive(data)
        operation = action_of(fields)
        asked = parse_query(operation, fields)
    except SqsError as error:
        check_refusal(error)
        raise
    assert parse_query(operation, at_once(form_steps(urlencode(fields).encode()))) == asked


TARGET = FuzzTarget(_read, (SqsError,), lambda: _SEEDS)
