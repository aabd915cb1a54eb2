"""`acklog cluster up`: a whole cluster on this machine."""

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.quantities import count_text
from acklog.command.session import Session, session_of
from app.commands.command_end import CLUSTER_EXTRA, needs_of_a_cluster

if TYPE_CHECKING:
    from app.local_cluster.local_cluster import LocalCluster, LocalClusterOptions
    from app.local_cluster.up import ClusterDisplay

ETCD_VARIABLE = "ACKLOG_ETCD_PROGRAM"
NODES_MAX = 9
GATEWAYS_MAX = 9
ETCD_SIZES = (1, 3, 5)


def up(
    context: typer.Context,
    nodes: Annotated[int, typer.Option("--nodes", metavar="COUNT", min=1, max=NODES_MAX, help="Storage nodes.")] = 3,
    gateways: Annotated[
        int, typer.Option("--gateways", metavar="COUNT", min=1, max=GATEWAYS_MAX, help="Gateways.")
    ] = 2,
    etcd_members: Annotated[
        int, typer.Option("--etcd-members", metavar="COUNT", help="Members of etcd: 1, 3 or 5.")
    ] = 1,
    port: Annotated[
        int,
        typer.Option(
            "--port", min=0, max=65_000, help="Port of the first gateway, the others follow; 0 takes free ones."
        ),
    ] = 8080,
    data_directory: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", metavar="DIR", help="Keep the data here [a temporary directory, removed at the end]."
        ),
    ] = None,
    etcd_program: Annotated[
        str | None,
        typer.Option(
            "--etcd-program",
            metavar="FILE",
            help=f"The etcd to run [{ETCD_VARIABLE}; the one on the path, or fetched].",
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help="Of every process: debug, info, warning, error.")
    ] = "warning",
) -> None:
    """Run a whole cluster on this machine: etcd, nodes and gateways, each a process of its own.

    It is kept running: a process that ends, or that you kill, is started again after a moment. Ctrl-C (or SIGTERM)
    stops everything in order. For trying things out: one machine is one point of failure.
    """
    from app.local_cluster.local_cluster import LocalClusterOptions

    session = session_of(context)
    check_cluster_extra()
    if etcd_members not in ETCD_SIZES:
        raise UsageError(f"{etcd_members} etcd members", field="--etcd-members", hint="It may be 1, 3 or 5.")
    options = LocalClusterOptions(
        nodes=nodes, gateways=gateways, etcd_members=etcd_members, gateway_port=port, log_level=log_level
    )
    with cluster_directory(session, data_directory) as directory:
        _run(session, options, directory, etcd_program)


def _run(session: Session, options: "LocalClusterOptions", directory: Path, etcd_program: str | None) -> None:
    from app.local_cluster.local_cluster import LocalCluster
    from app.local_cluster.up import keep_up

    program = etcd_of(session, etcd_program)
    with _display(session) as display:
        cluster = made(lambda: LocalCluster(directory, program, options, tell=display.changed))
        finish(session, keep_up(cluster, display, on_ready=lambda: _tell_ready(session, cluster)))
    session.output.note("Everything is stopped.")


def check_cluster_extra() -> None:
    """Before a cluster's processes are started, each of which would end for want of it. Raises CommandError."""
    missing = needs_of_a_cluster()
    if missing:
        what = f"a cluster needs an extra of the server that is not installed ({', '.join(missing)})"
        raise CommandError(what, hint=f'Install it: {sys.executable} -m pip install "{CLUSTER_EXTRA}"')


def made(make: Any) -> "LocalCluster":
    """Raises UsageError for a directory of another cluster."""
    from app.local_cluster.layout import LayoutError

    try:
        cluster: LocalCluster = make()
    except LayoutError as error:
        raise UsageError(str(error), field="--data-dir") from error
    return cluster


def finish(session: Session, running: Coroutine[None, None, None]) -> None:
    """Run it until it ends, or until Ctrl-C or SIGTERM cancel it, which is how it ends well."""
    from app.local_cluster.server_process import ServerFailedError

    async def until_told() -> None:
        task = asyncio.ensure_future(running)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled():
            task.result()

    try:
        asyncio.run(until_told())
    except ServerFailedError as error:
        if not session.output.is_json:
            session.output.complain(error.log_tail)
        raise CommandError(error.what, hint="With --data-dir the logs stay.") from error


def etcd_of(session: Session, named: str | None) -> Path:
    """The etcd program. Raises CommandError."""
    from app.local_cluster.etcd_program import EtcdMissingError, cache_directory, find_etcd

    environment = session.surroundings.environment
    try:
        return find_etcd(
            cache_directory(environment), named=named or environment.get(ETCD_VARIABLE), tell=session.output.note
        )
    except EtcdMissingError as error:
        hint = f"Install etcd (3.4 or newer), or name it: --etcd-program, {ETCD_VARIABLE}."
        raise CommandError(str(error), hint=hint) from error


@contextmanager
def cluster_directory(session: Session, kept: Path | None) -> Iterator[Path]:
    """The directory of a cluster: the one to keep, or a temporary one."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    directory = Path(tempfile.mkdtemp(prefix="acklog-cluster-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _tell_ready(session: Session, cluster: "LocalCluster") -> None:
    from app.local_cluster.cluster_process import Kind

    urls = cluster.gateway_urls
    if session.output.is_json:
        document = {
            "gateways": urls,
            "nodes": [member.address for member in cluster.of_kind(Kind.NODE)],
            "etcd": [member.process.url for member in cluster.of_kind(Kind.ETCD)],
            "directory": str(cluster.directory),
        }
        session.output.show_item(document)
        session.output.flush()
        return
    members = f"{count_text(cluster.options.nodes, 'node')}, {count_text(cluster.options.gateways, 'gateway')}"
    session.output.note(f"{members}, {count_text(cluster.options.etcd_members, 'etcd member')} ready: {' '.join(urls)}")
    session.output.note(f"Data and logs: {cluster.directory}. Ctrl-C stops everything; try kill -9 on anything before.")
    session.output.note(f"""Try it: curl -s {urls[0]}/messages -d '{{"queue": "orders", "body": 1}}'""")
    if len(urls) > 1:
        session.output.note(f"        curl -s '{urls[1]}/messages?queue=orders&waitSeconds=5'")


@contextmanager
def _display(session: Session) -> "Iterator[ClusterDisplay]":
    """A table where standard error is a terminal, else lines."""
    from app.local_cluster.displays import ClusterLineDisplay, table_display

    around = session.surroundings
    style = session.output.style
    if style.is_quiet or not around.stderr.isatty() or around.environment.get("TERM") == "dumb":
        yield ClusterLineDisplay(session.output.note)
        return
    from acklog.command.rich_view import console_for

    with table_display(console_for(around.stderr, is_coloured=style.is_coloured, width=style.width)) as display:
        yield display
