"""`acklog send`: one message, or one per line of standard input."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument
from acklog.command.delivery_time import AtOption, DelayOption, DeliveryTime, TtlOption
from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, ShownFailure, UsageError, explain
from acklog.command.input_lines import input_lines
from acklog.command.outgoing import BYTES_TYPE, MessageForm, parse_headers
from acklog.command.sent_view import document_of, name_of, sent_views
from acklog.command.session import Session, session_of
from acklog.command.tree import CommandTyper
from acklog.command.views import Cell, Fields

if TYPE_CHECKING:
    from acklog.command.line_sender import SendTotals
    from acklog.command.progress import Progress
    from acklog.messages import OutgoingMessage, Sent
    from acklog.producer.producer_settings import ProducerOptions

command = CommandTyper(name="send")

FILE_BYTES_MAX = 16 * 1024 * 1024  # beyond what a server can be set to take; nothing larger is read into memory
FAILURES_TOLD_MAX = 100


@command.command("send")
def send(
    context: typer.Context,
    topic: TopicArgument,
    body: Annotated[
        str | None, typer.Argument(metavar="[BODY]", help="The body, as JSON. Without it: one per line of stdin.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Bodies are text, not JSON.")] = False,
    envelope: Annotated[
        bool, typer.Option("--envelope", help="Each is a whole message: an object with body, key, headers, ...")
    ] = False,
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="A file is the body (-: stdin).")] = None,
    content_type: Annotated[
        str | None, typer.Option("--content-type", metavar="TYPE", help=f"The file's type [{BYTES_TYPE}].")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", "-k", metavar="KEY", help="The key: it decides the partition.")
    ] = None,
    key_field: Annotated[
        str,
        typer.Option(
            "--key-field", metavar="FIELD", help="The body's field that is the key: customer.id", show_default=False
        ),
    ] = "",
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="May repeat.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="May repeat.")] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", metavar="NUMBER", min=0, help="The partition.")
    ] = None,
    dedup_id: Annotated[
        str | None,
        typer.Option(
            "--dedup-id", metavar="ID", help="Store it once, however often it is sent. Lines get ID-<number>."
        ),
    ] = None,
    delay: DelayOption = None,
    at: AtOption = None,
    ttl: TtlOption = None,
) -> None:
    """Send a message, or one per line of standard input.

    acklog send orders '{"order": 1}' --key customer-7

    cat events.ndjson | acklog send orders --key-field customer

    Prints the message ids once the messages are on disk. A line that fails does not keep the others from being sent.
    """
    session = session_of(context)
    _refuse_contradictions(
        body=body, file=file, text=text, envelope=envelope, key=key, key_field=key_field, content_type=content_type
    )
    form = MessageForm(
        key=key,
        key_field=key_field,
        headers=parse_headers(header or []),
        tags=tuple(tag or ()),
        partition=partition,
        dedup_id=dedup_id,
        time=DeliveryTime.typed(delay, at, ttl, now_ms=session.now_ms()),
        is_text=text,
        is_envelope=envelope,
    )
    if file is not None:
        _send_one(session, topic, form.of_bytes(_read_file(session, file), content_type or BYTES_TYPE))
    elif body is not None:
        _send_one(session, topic, form.of_argument(body))
    else:
        _send_lines(session, topic, form)


def _refuse_contradictions(
    *,
    body: str | None,
    file: str | None,
    text: bool,
    envelope: bool,
    key: str | None,
    key_field: str,
    content_type: str | None,
) -> None:
    for is_wrong, first, second in (
        (body is not None and file is not None, "BODY", "--file"),
        (text and envelope, "--text", "--envelope"),
        (file is not None and text, "--file", "--text"),
        (file is not None and envelope, "--file", "--envelope"),
        (key is not None and bool(key_field), "--key", "--key-field"),
        (bool(key_field) and (text or envelope or file is not None), "--key-field", "a body that is not JSON"),
    ):
        if is_wrong:
            raise UsageError(f"{first} and {second} contradict each other", hint="Give one of them.")
    if content_type is not None and file is None:
        raise UsageError("only a file has a content type", field="--content-type", hint="Give --file PATH.")


def _read_file(session: Session, path: str) -> bytes:
    try:
        if path == "-":
            content: bytes = session.surroundings.stdin.buffer.read(FILE_BYTES_MAX + 1)  # type: ignore[attr-defined]
        else:
            with Path(path).open("rb") as stream:
                content = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", field="--file") from error
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(
            f"{path} has more than {FILE_BYTES_MAX} bytes",
            field="--file",
            hint="Store the content elsewhere, and send a reference to it.",
        )
    return content


# --- one -------------------------------------------------------------------------------------------------------------


def _send_one(session: Session, topic: str, message: "OutgoingMessage") -> None:
    with session.client() as client:
        sent = client.send(
            topic,
            message.body,
            key=message.key,
            headers=message.headers,
            tags=message.tags,
            timestamp_ms=message.timestamp_ms,
            partition=message.partition,
            dedup_id=message.dedup_id,
            content_type=message.content_type,
            delay_seconds=message.delay_seconds,
            deliver_at=message.deliver_at,
            ttl_seconds=message.ttl_seconds,
        )
    if sent.topic_created:
        session.output.note(f"Created the topic {topic}.")
    session.output.show(sent, *sent_views(session.output, topic, sent))


# --- lines -----------------------------------------------------------------------------------------------------------


def _send_lines(session: Session, topic: str, form: MessageForm) -> None:
    from acklog.command.line_sender import LineSender, PendingSend

    stdin = session.surroundings.stdin
    if stdin.isatty():
        session.output.note("Sending one message per line; end with Ctrl-D.")
    began_ms = session.now_ms()
    with (
        session.client() as client,
        closing(client.producer(topic, **_producer_options(session.options.timeout_s))) as producer,
        session.output.progress(f"Sending to {topic}") as progress,
    ):

        def start(message: "OutgoingMessage") -> PendingSend:
            return producer.send(
                message.body,
                key=message.key,
                headers=message.headers,
                tags=message.tags,
                timestamp_ms=message.timestamp_ms,
                partition=message.partition,
                dedup_id=message.dedup_id,
                content_type=message.content_type,
                delay_seconds=message.delay_seconds,
                deliver_at=message.deliver_at,
                ttl_seconds=message.ttl_seconds,
            )

        reporter = _LineReporter(session, topic, progress)
        sender = LineSender(start, form, reporter)
        totals = sender.run(input_lines(stdin))
    _conclude(session, topic, totals, took_s=max(0, session.now_ms() - began_ms) / 1000)


def _producer_options(timeout_s: float) -> "ProducerOptions":
    """Every wait of the producer ends with --timeout, as far as it allows."""
    from acklog.producer.producer_settings import DELIVERY_TIMEOUT_MS_MAX

    timeout_ms = max(1, min(DELIVERY_TIMEOUT_MS_MAX, int(timeout_s * 1000)))
    return {
        "delivery_timeout_ms": timeout_ms,
        "request_timeout_ms": timeout_ms,
        "send_timeout_ms": timeout_ms,
        "close_timeout_ms": timeout_ms,
    }


class _LineReporter:
    """Ids to a pipe, a bar to a person, documents with --json. Failed lines are told on standard error."""

    def __init__(self, session: Session, topic: str, progress: "Progress") -> None:
        self._session = session
        self._topic = topic
        self._progress = progress
        self._failed = 0

    def sent(self, line_number: int, sent: "Sent") -> None:
        self._progress.advance()
        output = self._session.output
        if output.is_json:
            output.show_item({"line": line_number, **document_of(sent)})
        elif not output.is_terminal:
            output.put_text(f"{name_of(sent)}\n")
        if sent.topic_created and line_number == 1:
            output.note(f"Created the topic {self._topic}.")

    def failed(self, line_number: int, error: Exception) -> None:
        output = self._session.output
        failure = explain(error) or ShownFailure(str(error), ExitCode.FAILED)
        self._failed += 1
        if output.is_json:
            output.show_item({"line": line_number, **failure.document()})
        elif self._failed <= FAILURES_TOLD_MAX:
            output.complain(f"line {line_number}: {failure.line()}")
        elif self._failed == FAILURES_TOLD_MAX + 1:
            output.complain("more lines failed; they are counted only")

    def given_up(self, line_number: int, error: Exception) -> None:
        if self._session.output.is_json:
            self.failed(line_number, error)

    def caught_up(self) -> None:
        self._session.output.flush()


def _conclude(session: Session, topic: str, totals: "SendTotals", *, took_s: float) -> None:
    output = session.output
    output.flush()
    rate = totals.sent / took_s if took_s > 0 else 0.0
    if output.is_terminal and not output.is_json and totals.sent:
        rows: list[tuple[str, Cell | str]] = [
            ("sent", Cell(f"{totals.sent:,} to {topic}", "good")),
            ("took", f"{took_s:.1f} s ({rate:,.0f}/s)"),
            ("first", totals.first_id),
            ("last", totals.last_id),
        ]
        output.show_views(Fields(rows))
    else:
        output.note(f"Sent {totals.sent:,} to {topic} in {took_s:.1f} s.")
    if totals.stopped_by is not None:
        failure = explain(totals.stopped_by) or ShownFailure(str(totals.stopped_by), ExitCode.FAILED)
        raise CommandError(
            f"stopped: {totals.given_up:,} lines, line {totals.stopped_at} the first, were not stored: {failure.what}",
            exit_code=failure.exit_code,
            near=failure.near,
            hint=failure.hint,
        ) from totals.stopped_by
    if totals.failed:
        raise CommandError(
            f"{totals.failed:,} of {totals.sent + totals.failed:,} lines failed",
            hint="Correct them, and send them alone: the others are stored.",
        )
