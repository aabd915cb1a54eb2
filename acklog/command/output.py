"""The one place from which data leaves a command.

Data goes to standard output: as views for people (rich on a terminal, aligned text elsewhere) or, with --json, as one
JSON document, or one document per line for streams. Chatter and progress go to standard error, so that a pipe gets
data only. A command gives both forms to `show` and does not ask which one is wanted:

    output.show({"topics": topics}, Table(...))    # one document, one view
    output.show_item(topic, Sentence(...))         # one of a stream
    output.note("Created orders.")                 # chatter; not with --quiet
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import msgspec

from acklog.command.plain_view import plain_text
from acklog.command.printable import one_line
from acklog.command.progress import Progress, SilentProgress
from acklog.command.views import Table, View

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_encode_json = msgspec.json.Encoder(enc_hook=str).encode


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """What the options and the terminal say about how to write. `width` None: as wide as the terminal is."""

    is_json: bool = False
    is_quiet: bool = False
    is_coloured: bool = True
    width: int | None = None


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, stdout: IO[str], stderr: IO[str], style: OutputStyle, environment: Mapping[str, str]) -> None:
        self.style = style
        self._stdout = stdout
        self._stderr = stderr
        is_dumb = environment.get("TERM") == "dumb"
        self.is_terminal = stdout.isatty() and not is_dumb
        self._is_chat_terminal = stderr.isatty() and not is_dumb
        self._console: Console | None = None

    @property
    def is_json(self) -> bool:
        return self.style.is_json

    # --- data --------------------------------------------------------------------------------------------------------

    def show(self, document: object, *views: View) -> None:
        """The command's whole answer: `document` with --json, else the views below one another."""
        if self.is_json:
            text = _encode_json(document)
            self.put_bytes((msgspec.json.format(text, indent=2) if self.is_terminal else text) + b"\n")
        else:
            self.show_views(*views)

    def show_item(self, document: object, *views: View) -> None:
        """One item of a stream: a line of JSON, or views. Without any view people see nothing of it."""
        if self.is_json:
            self.put_bytes(_encode_line(document))
        else:
            self.show_views(*views)

    def show_views(self, *views: View) -> None:
        """Views for people, also with --json."""
        for view in views:
            if isinstance(view, Table) and not view.rows:
                self.note(view.empty)
            elif self.is_terminal:
                from acklog.command.rich_view import renderable

                self.console.print(renderable(view))
            else:
                self._stdout.write(plain_text(view))

    def put_bytes(self, content: bytes) -> None:
        """Bytes as they are, in order with everything else."""
        self._stdout.flush()
        buffer = getattr(self._stdout, "buffer", None)
        if buffer is None:
            self._stdout.write(content.decode(errors="replace"))
        else:
            buffer.write(content)

    def put_text(self, text: str) -> None:
        """Text as it is."""
        self._stdout.write(text)

    def flush(self) -> None:
        """Let the reader of a pipe see what there is. Raises BrokenPipeError when it is gone."""
        self._stdout.flush()

    @property
    def console(self) -> "Console":
        """Rich's console on standard output: for what views cannot say. Only on a terminal."""
        if self._console is None:
            from acklog.command.rich_view import console_for

            self._console = console_for(self._stdout, is_coloured=self.style.is_coloured, width=self.style.width)
        return self._console

    @contextmanager
    def live(self) -> Iterator["LiveView"]:
        """A view that changes: in place on a terminal, one after the other elsewhere, lines with --json."""
        if self.is_json or not self.is_terminal:
            yield LiveView(self, None)
            return
        from rich.live import Live

        with Live(console=self.console, auto_refresh=False) as live:
            yield LiveView(self, live)

    # --- chatter -----------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A remark on standard error. Nothing with --quiet."""
        if text and not self.style.is_quiet:
            self._stderr.write(one_line(text) + "\n")
            self._stderr.flush()

    def complain(self, text: str) -> None:
        """A failure on standard error, several lines perhaps; also with --quiet."""
        self._stdout.flush()
        self._stderr.write(text.rstrip("\n") + "\n")
        self._stderr.flush()

    @contextmanager
    def progress(self, what: str, *, total: int | None = None) -> Iterator[Progress]:
        """A bar on standard error while the block runs; nothing without a terminal or with --quiet."""
        if self.style.is_quiet or not self._is_chat_terminal:
            yield SilentProgress()
            return
        from acklog.command.progress_bar import progress_bar
        from acklog.command.rich_view import console_for

        console = console_for(self._stderr, is_coloured=self.style.is_coloured, width=self.style.width)
        with progress_bar(console, what, total=total) as bar:
            yield bar


class LiveView:
    """What `Output.live` gives: call `update` whenever there is something new to see."""

    def __init__(self, output: Output, live: "Live | None") -> None:
        self._output = output
        self._live = live
        self._has_shown = False

    def update(self, document: object, *views: View) -> None:
        """Replace what is seen; without a terminal write it below, with --json as a line."""
        if self._live is not None:
            from rich.console import Group

            from acklog.command.rich_view import renderable

            self._live.update(Group(*(renderable(view) for view in views)), refresh=True)
            return
        if self._has_shown and not self._output.is_json:
            self._output.put_text("\n")
        self._has_shown = True
        self._output.show_item(document, *views)
        self._output.flush()


def _encode_line(document: object) -> bytes:
    """Bodies are as they were sent. Valid JSON has line breaks between tokens only, where a space can stand."""
    line = _encode_json(document)
    return line.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def json_text(value: Any) -> str:
    """A JSON-able value on one line."""
    return _encode_json(value).decode()
