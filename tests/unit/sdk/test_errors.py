import copy
import pickle

import pytest

from acklog import errors, local_errors
from acklog.client.call import Response, problem_of
from acklog.errors import AcklogError, TopicNotFound, UnexpectedAnswer, error_class
from acklog.wire.problems import ProblemCode
from tests.unit.sdk.fake_log import problem


@pytest.mark.parametrize("code", ProblemCode)
def test_every_problem_code_has_a_class_of_its_own(code: ProblemCode) -> None:
    kind = error_class(code.name)
    assert kind.__name__ == "".join(word.capitalize() for word in code.name.split("_"))
    assert getattr(errors, kind.__name__) is kind
    error = kind("it failed")
    assert (error.code, error.status, error.retriable) == (code.name, code.status, code.retriable)
    assert kind.__doc__ == code.title + "."


def test_a_problem_document_becomes_its_error() -> None:
    response = problem(404, "TOPIC_NOT_FOUND", False, field="queue", near=["orders"])
    error = problem_of(response)
    assert isinstance(error, TopicNotFound)
    assert (error.detail, error.field, error.status, error.near) == ("it is TOPIC_NOT_FOUND", "queue", 404, ["orders"])
    assert str(error) == "TOPIC_NOT_FOUND: it is TOPIC_NOT_FOUND (queue)"


def test_a_code_of_a_newer_server_is_an_error_all_the_same() -> None:
    error = problem_of(problem(418, "NEW_CODE", True, headers={"retry-after": "3"}))
    assert type(error) is AcklogError
    assert (error.code, error.retriable, error.retry_after_s) == ("NEW_CODE", True, 3.0)


@pytest.mark.parametrize(
    ("response", "words", "is_retriable"),
    [
        (Response(502, b"<html>Bad Gateway", {"content-type": "text/html"}), "Bad Gateway", True),
        (Response(404, b"{}", {"content-type": "application/problem+json"}), "'code'", False),
        (Response(404, b"\xff{", {"content-type": "application/problem+json"}), "404", False),
        (Response(301, b"", {"location": "https://x/"}), "it redirects to https://x/", False),
    ],
)
def test_an_answer_that_is_not_acklogs_says_so(response: Response, words: str, is_retriable: bool) -> None:
    error = problem_of(response)
    assert isinstance(error, UnexpectedAnswer)
    assert words in str(error)
    assert error.retriable is is_retriable


def test_errors_can_be_copied_and_sent_to_other_processes() -> None:
    error = TopicNotFound("none", field="queue", extra={"near": ["a"]})
    lost = errors.DeliveryFailed("3 messages", count=3, failures=[error])
    for original in (error, lost):
        for other in (copy.copy(original), pickle.loads(pickle.dumps(original))):
            assert type(other) is type(original)
            assert str(other) == str(original)
            assert other.__dict__.keys() == original.__dict__.keys()
    assert pickle.loads(pickle.dumps(lost)).failures[0].near == ["a"]


def test_what_no_server_answers_with_is_found_beside_the_codes() -> None:
    found = {
        name for name, kind in vars(local_errors).items() if isinstance(kind, type) and issubclass(kind, AcklogError)
    }
    assert all(getattr(errors, name) is getattr(local_errors, name) for name in found)
    assert "ConnectionFailed" in found


def test_a_wrong_argument_is_a_value_error_too() -> None:
    assert issubclass(errors.InvalidArgument, ValueError)
    assert issubclass(errors.BufferFull, errors.DeadlineExceeded)
    assert issubclass(errors.CannotConnect, errors.ConnectionFailed)
