"""`acklog cluster demo`: what is promised, shown on a cluster of which everything is killed once."""

from typing import Annotated

import typer

from acklog.command.session import session_of
from app.commands.cluster_up import ETCD_VARIABLE, check_cluster_extra, etcd_of
from app.commands.demo import INPUT_VARIABLE, KILLS_MAX, MESSAGES_MAX, MESSAGES_MIN, prepared, show_run

MESSAGES_DEFAULT = 60_000
MESSAGES_PER_S_DEFAULT = 2_000
MESSAGES_PER_S_MAX = 1_000_000


def demo(
    context: typer.Context,
    messages: Annotated[
        int,
        typer.Option(
            "--messages",
            metavar="COUNT",
            min=MESSAGES_MIN,
            max=MESSAGES_MAX,
            help="How many to send; the input is begun again where it has fewer.",
        ),
    ] = MESSAGES_DEFAULT,
    messages_per_s: Annotated[
        int,
        typer.Option(
            "--rate", metavar="COUNT", min=1, max=MESSAGES_PER_S_MAX, help="How many to send in a second, about."
        ),
    ] = MESSAGES_PER_S_DEFAULT,
    kills: Annotated[
        int,
        typer.Option(
            "--kills",
            metavar="COUNT",
            min=0,
            max=KILLS_MAX,
            help="How many, in turn: a leader, the controller, a gateway, etcd's leader.",
        ),
    ] = 4,
    source: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="FILE", help=f"Lines of JSON with body, key and tags [{INPUT_VARIABLE}; a sample]."
        ),
    ] = None,
    etcd_program: Annotated[
        str | None,
        typer.Option(
            "--etcd-program", metavar="FILE", help=f"The etcd to run [{ETCD_VARIABLE}; one on the path, or fetched]."
        ),
    ] = None,
    keeps_directory: Annotated[
        bool, typer.Option("--keep", help="Keep the cluster's directory, and say where it is.")
    ] = False,
) -> None:
    """Send flights through a cluster that is being killed, and verify every promise.

    A cluster of its own is started: three nodes, two gateways, three members of etcd. Flights are sent, two groups work
    on them, and on the way a leader, the controller, a gateway and etcd's leader are killed (SIGKILL), and started
    again two seconds later. Then the log is read back, and everything that was confirmed is compared with it.
    Exit code 0: every promise held, 1: one did not, 2: the run did not finish.
    """
    from app.demo.cluster_scene import ClusterScene

    session = session_of(context)
    check_cluster_extra()
    flights, options = prepared(session, source, messages, kills, messages_per_s=messages_per_s)
    program = etcd_of(session, etcd_program)
    show_run(
        session,
        flights,
        options,
        lambda directory: ClusterScene(directory, program, kills=kills),
        keeps_directory=keeps_directory,
    )
