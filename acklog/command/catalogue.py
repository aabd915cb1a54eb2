"""Every command of this distribution: its part of the help, its module, and a line about it.

A module is imported when its command is called. It has a `command`: a typer.Typer with that one command, or with
subcommands. What other distributions add is found through entry points, see `tree`.
"""

from typing import NamedTuple

MESSAGES = "Messages"
ADMINISTRATION = "Topics and groups"
OPERATION = "The server"
ITSELF = "This command"
SECTIONS = (MESSAGES, ADMINISTRATION, OPERATION, ITSELF)


class CommandEntry(NamedTuple):
    """A command that `takes_more` has subcommands, and other distributions may add some: see `tree`."""

    section: str
    module: str
    summary: str
    takes_more: bool = False


_HOME = "acklog.command.commands"

CATALOGUE = {
    "send": CommandEntry(MESSAGES, f"{_HOME}.send", "Send a message, or lines from standard input."),
    "receive": CommandEntry(MESSAGES, f"{_HOME}.receive", "Receive messages as a consumer of a group."),
    "tail": CommandEntry(MESSAGES, f"{_HOME}.tail", "Show messages as they come, without a group."),
    "peek": CommandEntry(MESSAGES, f"{_HOME}.peek", "Show a group's next or a topic's last messages; lease nothing."),
    "ack": CommandEntry(MESSAGES, f"{_HOME}.ack", "Acknowledge messages: they are done for their group."),
    "nack": CommandEntry(MESSAGES, f"{_HOME}.nack", "Give messages back, to come again now or later."),
    "extend": CommandEntry(MESSAGES, f"{_HOME}.extend", "Keep leases for longer."),
    "why": CommandEntry(MESSAGES, f"{_HOME}.why", "Explain what became of a message, now or for later."),
    "schedule": CommandEntry(MESSAGES, f"{_HOME}.schedule", "Messages for later, and again and again."),
    "dlq": CommandEntry(MESSAGES, f"{_HOME}.dlq", "Dead letters: list, show, retry, purge."),
    "topics": CommandEntry(ADMINISTRATION, f"{_HOME}.topics", "List, create, change and delete topics."),
    "encryption": CommandEntry(ADMINISTRATION, f"{_HOME}.encryption", "Topics that are encrypted: status, rotate."),
    "groups": CommandEntry(ADMINISTRATION, f"{_HOME}.groups", "List, create, change and delete groups."),
    "keys": CommandEntry(ADMINISTRATION, f"{_HOME}.keys", "What waits for a decision: list, release, skip."),
    "lag": CommandEntry(ADMINISTRATION, f"{_HOME}.lag", "How far groups are behind."),
    "seek": CommandEntry(ADMINISTRATION, f"{_HOME}.seek", "Send a group back, or forward."),
    "tokens": CommandEntry(OPERATION, f"{_HOME}.tokens", "Stored tokens: create, list, rotate, revoke."),
    "namespaces": CommandEntry(OPERATION, f"{_HOME}.namespaces", "Namespaces: list, show, create, set, delete."),
    "can": CommandEntry(OPERATION, f"{_HOME}.can", "What a token may do, and which right says so."),
    "audit": CommandEntry(OPERATION, f"{_HOME}.audit", "Who did what, and who was refused."),
    "events": CommandEntry(OPERATION, f"{_HOME}.events", "How the cluster is, and what changes, as it does."),
    "doctor": CommandEntry(OPERATION, f"{_HOME}.doctor", "Look at a server, and say what is wrong with it."),
    "cluster": CommandEntry(OPERATION, f"{_HOME}.cluster", "A cluster's nodes and moves.", takes_more=True),
    "mirror": CommandEntry(OPERATION, f"{_HOME}.mirror", "Copy topics from another cluster, continuously."),
    "backup": CommandEntry(OPERATION, f"{_HOME}.backup", "Back up topics and groups; list, verify, prune backups."),
    "restore": CommandEntry(OPERATION, f"{_HOME}.restore", "Restore topics and groups from a backup."),
    "bench": CommandEntry(OPERATION, f"{_HOME}.bench", "Measure a server from here."),
    "profile": CommandEntry(ITSELF, f"{_HOME}.profile", "Servers and tokens by name."),
    "version": CommandEntry(ITSELF, f"{_HOME}.version", "Which versions are installed here."),
    "completion": CommandEntry(ITSELF, f"{_HOME}.completion", "Completion for bash, zsh and fish."),
}

# Commands that come with another distribution, for those who have only this one.
_SERVER = "acklog-server"
_SPARK = "acklog-spark"
ELSEWHERE = {
    **dict.fromkeys(
        ["serve", "node", "gateway", "health", "config", "fsck", "rebuild", "demo", "cluster up", "cluster demo"],
        _SERVER,
    ),
    **dict.fromkeys(["export", "replay"], _SPARK),
}
