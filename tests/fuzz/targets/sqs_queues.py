"""What clients of SQS say of a queue: its URL and ARN, attributes, tags, permissions, and handles of tasks."""

from collections.abc import Callable

from app.sqs.queues.access_policy import statements_of, with_permission, without_permission
from app.sqs.queues.attribute_rules import first_difference, kept_attributes, read_attributes
from app.sqs.queues.attribute_table import SETTABLE
from app.sqs.queues.move_tasks import task_handle_of
from app.sqs.queues.page_tokens import name_of_token, token_of
from app.sqs.queues.queue_names import QueueNames, check_new_name
from app.sqs.queues.queue_tags import checked_tags
from app.sqs.queues.redrive_policy import redrive_policy_of
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.sqs_queue import is_queue_name
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_NAMES = QueueNames(account="123456789012", region="us-east-1")
_ARN = "arn:aws:sqs:us-east-1:123456789012:orders"
_EXPECTED = frozenset(
    {
        SqsErrorCode.INVALID_ADDRESS,
        SqsErrorCode.INVALID_ATTRIBUTE_NAME,
        SqsErrorCode.INVALID_ATTRIBUTE_VALUE,
        SqsErrorCode.INVALID_PARAMETER_VALUE,
        SqsErrorCode.OVER_LIMIT,
        SqsErrorCode.QUEUE_DOES_NOT_EXIST,
    }
)
_SHOWN_MAX = 1_024


def _names(text: str) -> None:
    name = _NAMES.name_of_arn(text)
    assert name is None or (_NAMES.arn_of(name) == text and _NAMES.is_arn(text))
    name = _NAMES.name_of_url(text)
    assert _NAMES.name_of_url(_NAMES.url_of(name, "http://host")) == name


def _new_name(text: str) -> None:
    check_new_name(text, is_fifo=text.endswith(".fifo"))
    assert is_queue_name(text)


def _attribute(text: str) -> None:
    number, _, value = text.partition(" ")
    attribute = SETTABLE[int(number) % len(SETTABLE)] if number.isascii() and number.isdigit() else SETTABLE[0]
    given = read_attributes({attribute.name: value}, is_fifo=True)
    kept = kept_attributes({"DeduplicationScope": "messageGroup"}, given)
    assert kept_attributes(kept, given) == kept
    assert first_difference(given, given) is None
    policy = given.get("RedrivePolicy")
    if policy:
        found = redrive_policy_of(policy)
        assert redrive_policy_of(found.text()) == found


def _permission(text: str) -> None:
    policy = with_permission("", text, ["123456789012"], ["SendMessage"], arn=_ARN)
    assert len(statements_of(policy)) == 1
    assert without_permission(policy, text) == ""


def _policy(text: str) -> None:
    given = read_attributes({"Policy": text}, is_fifo=False)["Policy"]
    before = len(statements_of(given)) if given else 0
    assert len(statements_of(with_permission(given, "one-more", ["123456789012"], ["*"], arn=_ARN))) == before + 1


def _handle(text: str) -> None:
    task = task_handle_of(text)
    assert task_handle_of(task.text()) == task


def _token(text: str) -> None:
    name = name_of_token(text)
    assert name_of_token(token_of(name)) == name if name else not text


def _tag(text: str) -> None:
    key, _, value = text.partition("=")
    assert checked_tags({key: value}, "orders") == {key: value}


_READERS: dict[bytes, Callable[[str], None]] = {
    b"names": _names,
    b"new name": _new_name,
    b"attribute": _attribute,
    b"permission": _permission,
    b"policy": _policy,
    b"handle": _handle,
    b"token": _token,
    b"tag": _tag,
}


def _seeds() -> list[bytes]:
    redrive = f'{{"deadLetterTargetArn":"{_ARN}","maxReceiveCount":"3"}}'
    allow = f'{{"redrivePermission":"byQueue","sourceQueueArns":["{_ARN}"]}}'
    values = ["5", "60", "30", redrive, "2048", "20", '{"Statement":[]}', allow, "alias/a", "300", "true", "true"]
    attributes = [f"{number} {value}" for number, value in enumerate(values)]
    texts = {
        b"names": [_ARN, "http://host/123456789012/orders.fifo", "http://[", "/210987654321/orders"],
        b"new name": ["orders", "orders.fifo", "__a", "a.b"],
        b"attribute": [*attributes, "13 messageGroup", "14 perMessageGroupId", "3 "],
        b"permission": ["alice-1", "a b"],
        b"policy": ['{"Version":"1","Statement":{"Sid":"a"}}', '{"Statement":[[]]}', ""],
        b"handle": ["b3JkZXJzL2FiYw==", "####"],
        b"token": [token_of("orders"), "x", ""],
        b"tag": ["a=b", "aws:a=b", "a=<"],
    }
    return [joined(kind, text.encode()) for kind, each in texts.items() for text in each]


def _read(data: bytes) -> None:
    kind, text = parts_of(data, 2)
    try:
        _READERS.get(kind, _names)(text.decode("utf-8", "surrogateescape"))
    except SqsError as error:
        assert error.code in _EXPECTED
        assert len(error.message) <= _SHOWN_MAX
        raise


TARGET = FuzzTarget(_read, (SqsError,), _seeds)
