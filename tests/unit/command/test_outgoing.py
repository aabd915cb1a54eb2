"""Messages from arguments and lines."""

import io

import msgspec
import pytest

from acklog.command.delivery_time import DeliveryTime
from acklog.command.failures import UsageError
from acklog.command.input_lines import InputLine, input_lines
from acklog.command.outgoing import MessageForm, parse_headers
from acklog.messages import OutgoingMessage


def of_line(form: MessageForm, text: str, number: int = 1) -> OutgoingMessage:
    return form.of_line(InputLine(number, text.encode()))


def test_json_goes_as_it_was_written() -> None:
    message = of_line(MessageForm(key="k", headers={"a": "b"}, tags=("t",), partition=3), ' {"n" :1.50}\t')
    assert bytes(message.body) == b'{"n" :1.50}'
    assert (message.key, message.headers, message.tags, message.partition) == ("k", {"a": "b"}, ["t"], 3)
    assert msgspec.json.encode(message.body) == b'{"n" :1.50}'


def test_text_goes_as_bytes() -> None:
    message = of_line(MessageForm(is_text=True), " two words ")
    assert (message.body, message.content_type) == (b" two words ", "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("body", "key"), [('{"id":"a"}', "a"), ('{"id":7}', "7"), ('{"id":1.5}', "1.5"), ('{"id":true}', "true")]
)
def test_the_key_of_a_field(body: str, key: str) -> None:
    assert of_line(MessageForm(key_field="id"), body).key == key
    assert of_line(MessageForm(key_field="a.id"), f'{{"a":{body}}}').key == key


@pytest.mark.parametrize("body", ["1", "{}", '{"id":null}', '{"id":{}}', '{"id":[1]}', '[{"id":1}]'])
def test_a_field_that_gives_no_key(body: str) -> None:
    with pytest.raises(UsageError, match="field 'id'"):
        of_line(MessageForm(key_field="id"), body)


def test_each_line_has_a_dedup_id_of_its_own() -> None:
    form = MessageForm(dedup_id="import-7")
    assert [of_line(form, "1", number).dedup_id for number in (1, 2)] == ["import-7-1", "import-7-2"]
    assert form.of_argument("1").dedup_id == "import-7"


def test_a_whole_message() -> None:
    form = MessageForm(key="default", headers={"a": "b", "x": "y"}, is_envelope=True, partition=9)
    line = (
        '{"body": {"n":1}, "key":"k", "headers":{"x":"z"}, "tags":["t"], "timestamp":5, "partition":2, "dedupId":"d"}'
    )
    message = of_line(form, line)
    assert (bytes(message.body), message.key, message.headers) == (b'{"n":1}', "k", {"a": "b", "x": "z"})
    assert (message.tags, message.timestamp_ms, message.partition, message.dedup_id) == (["t"], 5, 2, "d")
    assert of_line(form, '{"body":null}').key == "default"
    assert of_line(form, '{"bodyBase64":"AQI=","contentType":"a/b"}').body == b"\x01\x02"


def test_every_message_has_the_time_that_was_typed() -> None:
    time = DeliveryTime(delay_seconds=1.5, ttl_seconds=60)
    for message in (
        of_line(MessageForm(time=time), "1"),
        of_line(MessageForm(time=time, is_text=True), "text"),
        of_line(MessageForm(time=time, is_envelope=True), '{"body":1}'),
        MessageForm(time=time).of_bytes(b"", "a/b"),
    ):
        assert (message.delay_seconds, message.deliver_at, message.ttl_seconds) == (1.5, None, 60)


def test_a_whole_message_may_have_a_time_of_its_own() -> None:
    form = MessageForm(time=DeliveryTime(deliver_at_ms=5, ttl_seconds=60), is_envelope=True)
    message = of_line(form, '{"body":1,"delaySeconds":0}')
    assert (message.delay_seconds, message.deliver_at, message.ttl_seconds) == (0, None, 60)
    message = of_line(form, '{"body":1,"deliverAt":"2030-01-01T00:00:00Z","ttlSeconds":7}')
    assert (message.delay_seconds, message.deliver_at, message.ttl_seconds) == (None, "2030-01-01T00:00:00Z", 7)


def test_a_printed_message_is_not_pinned_to_its_old_partition() -> None:
    form = MessageForm(is_envelope=True)
    message = of_line(form, '{"messageId":"m-1","queue":"a","partition":2,"offset":7,"appendTime":1,"body":1}')
    assert message.partition is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "an envelope is a JSON object"),
        ("{", "it is not JSON"),
        ('{"key":"k"}', "neither body nor bodyBase64"),
        ('{"bdy":1}', "no field 'bdy'"),
        ('{"body":1,"key":7}', "key"),
        ('{"bodyBase64":"?"}', "base64"),
    ],
)
def test_a_bad_envelope(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        of_line(MessageForm(is_envelope=True), line)


def test_json_that_is_too_deep_is_refused_and_not_followed() -> None:
    with pytest.raises(UsageError, match="not JSON"):
        of_line(MessageForm(), "[" * 100_000)


def test_headers() -> None:
    assert parse_headers(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    for bad in ("a", "=b"):
        with pytest.raises(UsageError, match="is not a header"):
            parse_headers([bad])


class TestInputLines:
    def test_blank_lines_are_counted_and_left_out(self) -> None:
        lines = [*input_lines(io.StringIO("1\n\n  \n2\r\n3"))]
        assert lines == [InputLine(1, b"1"), InputLine(4, b"2"), InputLine(5, b"3")]

    @pytest.mark.parametrize("end", ["", "\n"])
    def test_a_line_at_the_limit_and_beyond(self, end: str) -> None:
        stream = io.TextIOWrapper(io.BytesIO(f"{'a' * 10}\n{'b' * 11}\n{'c' * 45}{end}".encode()))
        lines = [*input_lines(stream, line_bytes_max=10)]
        assert lines == [InputLine(1, b"a" * 10), InputLine(2, b"", True), InputLine(3, b"", True)]
        with pytest.raises(UsageError, match="the line has more than"):
            MessageForm().of_line(lines[1])

    def test_what_follows_a_long_line_is_read(self) -> None:
        lines = [*input_lines(io.StringIO(f"{'b' * 25}\n1\n"), line_bytes_max=10)]
        assert lines == [InputLine(1, b"", True), InputLine(2, b"1")]
