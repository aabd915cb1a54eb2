"""Options that several of the commands have, and what they make of the session."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.session import Session, checked_url
from acklog_spark.sessions import LOCAL_MASTER

if TYPE_CHECKING:
    from pyspark_acklog.connection import Connection

REQUEST_TIMEOUT_S = 120.0
"""How long a server may be away, in the middle of a run, before the run fails."""

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Where the export is: a directory, or a URL such as hdfs:///lake or s3a://bucket/lake.",
        show_default=False,
    ),
]
MasterOption = Annotated[
    str, typer.Option("--master", metavar="MASTER", help=f"Where Spark runs [{LOCAL_MASTER}; spark-submit's].")
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; may repeat.")
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Give way to whatever else wants a processor of this machine.")
]
GatewaysOption = Annotated[
    list[str] | None,
    typer.Option("--gateway", metavar="URL", help="Another gateway beside --server, to share the work; may repeat."),
]
CaFileOption = Annotated[
    str | None, typer.Option("--ca-file", metavar="FILE", help="Certificates (PEM) of authorities to trust.")
]


def connection_of(session: Session, gateways: list[str] | None, ca_file: str | None) -> "Connection":
    """Raises UsageError, CommandError."""
    from pyspark_acklog.connection import Connection

    server = session.server
    more = tuple(checked_url(url, "--gateway") for url in gateways or ())
    ca_pem = None
    if ca_file is not None:
        try:
            ca_pem = Path(ca_file).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{ca_file} cannot be read: {error}", field="--ca-file") from None
    connection = Connection(urls=(server.url, *more), token=server.token, ca_pem=ca_pem, timeout_s=REQUEST_TIMEOUT_S)
    connection.tls()
    return connection
