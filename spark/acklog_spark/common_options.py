"""Options that several of the commands have, and what they make of the session."""

from typing import TYPE_CHECKING, Annotated

import typer

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


def connection_of(session: Session, gateways: list[str] | None) -> "Connection":
    """Raises UsageError, InvalidArgument for files that cannot be used."""
    from acklog.client.tls_files import ClientTlsFiles
    from pyspark_acklog.connection import Connection, tls_content_of

    server = session.server
    urls = (server.url, *(checked_url(url, "--gateway") for url in gateways or ()))
    tls = tls_content_of(ClientTlsFiles(**server.files.named()), urls, variable=lambda _name: "")
    return Connection(urls=urls, token=server.token, tls=tls, timeout_s=REQUEST_TIMEOUT_S)
