"""Messages line by line, against each line for itself."""

from app.calls.send import Message, record_of
from app.http.exchange.turns import at_once
from app.http.parsing.large_send import lines_steps
from app.http.parsing.send import parse_send
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.send_seeds import lines, singles


def _read(data: bytes) -> None:
    messages = at_once(lines_steps(data))
    texts = [line for line in data.split(b"\n") if line and not line.isspace()]
    assert len(messages) == len(texts)
    for message, text in zip(messages, texts, strict=True):
        _check_line(message, text)


def _check_line(message: Message, text: bytes) -> None:
    """The same as the only message of a batch, which is that line."""
    try:
        [expected] = parse_send(
            b'{"queue":"q","messages":[%b]}' % text, content_type="application/json", query_string=b""
        ).messages
    except (ServerError, ValueError):  # the line is no JSON by itself, or more than one element
        return
    if isinstance(expected, ServerError):
        assert isinstance(message, ServerError)
        assert message.code is expected.code
    else:
        assert not isinstance(message, ServerError), "a line was refused that is right in a batch"
        assert record_of(message) == record_of(expected)


TARGET = FuzzTarget(_read, (ServerError,), lambda: lines() + singles())
