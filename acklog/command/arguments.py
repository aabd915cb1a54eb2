"""Arguments and options that several commands have."""

from typing import Annotated

import typer

from acklog.command.topic_names import complete_dead_letter_topics, complete_groups, complete_topics

TopicArgument = Annotated[
    str, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=complete_topics, show_default=False)
]
DeadLetterTopicArgument = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC",
        help="The dead-letter topic, such as orders.mail.dlq.",
        autocompletion=complete_dead_letter_topics,
        show_default=False,
    ),
]
GroupOption = Annotated[
    str, typer.Option("--group", "-g", metavar="GROUP", help="The group.", autocompletion=complete_groups)
]
DefaultGroupOption = Annotated[
    str | None,
    typer.Option(
        "--group",
        "-g",
        metavar="GROUP",
        help="The group [default; in a namespace NAMESPACE/default].",
        autocompletion=complete_groups,
    ),
]
ReceiptsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RECEIPT]...",
        help="Receipts; without any, lines of standard input: receipts, or what acklog receive prints.",
        show_default=False,
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
