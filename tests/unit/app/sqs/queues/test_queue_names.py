"""Names, URLs and ARNs of queues, each from each other one, and what is none."""

import pytest

from app.sqs.queues.queue_names import ARN_LENGTH_MAX, URL_LENGTH_MAX, QueueNames, check_new_name
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.sqs_queue import queue_of_group
from tests.support.queue_gateways import ACCOUNT, NAMES, REGION

C = SqsErrorCode
LONGEST = "q" * 80


@pytest.mark.parametrize("name", ["a", "A-b_9", LONGEST, "x.fifo", "q" * 75 + ".fifo"])
def test_there_and_back(name: str) -> None:
    public = QueueNames(account=ACCOUNT, region=REGION, public_url="https://mq.example/sqs/")
    assert public.url_of(name, "http://10.0.0.1:8080") == f"https://mq.example/sqs/{ACCOUNT}/{name}"
    assert public.name_of_url(public.url_of(name, "")) == name
    url = NAMES.url_of(name, "http://10.0.0.1:8080/")
    assert url == f"http://10.0.0.1:8080/{ACCOUNT}/{name}"
    for same in (url, f"{url}/", f"/{ACCOUNT}/{name}", f"{ACCOUNT}/{name}", f"https://other:1/a/b/{ACCOUNT}/{name}"):
        assert NAMES.name_of_url(same) == name
    assert NAMES.arn_of(name) == f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
    assert NAMES.name_of_arn(NAMES.arn_of(name)) == name
    check_new_name(name, is_fifo=name.endswith(".fifo"))
    assert queue_of_group(f"sqs.{name}") == name


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", C.INVALID_ADDRESS),
        ("orders", C.INVALID_ADDRESS),
        ("http://host", C.INVALID_ADDRESS),
        ("http://[", C.INVALID_ADDRESS),
        ("http://host/orders", C.INVALID_ADDRESS),
        (f"http://host/{'x' * URL_LENGTH_MAX}/{ACCOUNT}/orders", C.INVALID_ADDRESS),
        ("http://host/210987654321/orders", C.QUEUE_DOES_NOT_EXIST),
        (f"http://host/{ACCOUNT}/{LONGEST}q", C.QUEUE_DOES_NOT_EXIST),
        (f"http://host/{ACCOUNT}/a.b", C.QUEUE_DOES_NOT_EXIST),
        (f"http://host/{ACCOUNT}/__groups", C.QUEUE_DOES_NOT_EXIST),
    ],
)
def test_urls_of_no_queue(url: str, code: SqsErrorCode) -> None:
    with pytest.raises(SqsError) as caught:
        NAMES.name_of_url(url)
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("arn", "is_arn"),
    [
        ("orders", False),
        ("", False),
        ("arn:aws:sns:eu-central-1:123456789012:orders", False),
        (NAMES.arn_of("x" * ARN_LENGTH_MAX), False),
        (NAMES.arn_of("orders") + ":more", False),
        (NAMES.arn_of("orders").replace("arn:aws", "arn:aws-cn"), False),
        (NAMES.arn_of("a.b"), True),
        (NAMES.arn_of("orders").replace(REGION, "us-east-1"), True),
        (NAMES.arn_of("orders").replace(ACCOUNT, "210987654321"), True),
    ],
)
def test_arns_of_no_queue(arn: str, is_arn: bool) -> None:
    assert NAMES.name_of_arn(arn) is None
    assert NAMES.is_arn(arn) == is_arn


@pytest.mark.parametrize("name", ["", f"{LONGEST}q", "a.b", "a b", "é", "a\n", "__a", "a/b", ".fifo", "a.fifo.fifo"])
@pytest.mark.parametrize("is_fifo", [False, True])
def test_names_that_no_queue_may_have(name: str, is_fifo: bool) -> None:
    for tried in (name, "q.fifo" if not is_fifo else "q"):
        with pytest.raises(SqsError) as caught:
            check_new_name(tried, is_fifo=is_fifo)
        assert caught.value.code is C.INVALID_PARAMETER_VALUE
    assert queue_of_group(f"sqs.{name}") is None


def test_the_owner() -> None:
    NAMES.require_owner(ACCOUNT)
    for other in ("210987654321", "", "x" * 10_000):
        with pytest.raises(SqsError) as caught:
            NAMES.require_owner(other)
        assert caught.value.code is C.QUEUE_DOES_NOT_EXIST
