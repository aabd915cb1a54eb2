"""From a failure to what a person reads and a script gets: what happened, where, what to do next, the exit code.

Commands raise CommandError for what they find themselves and let the SDK's errors pass; `explain` knows both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from acklog.command.exit_codes import ExitCode
from acklog.command.printable import one_line

if TYPE_CHECKING:
    from acklog.errors import AcklogError

NEAR_SHOWN_MAX = 5

_EXIT_CODES = {
    "UNAUTHENTICATED": ExitCode.NOT_ALLOWED,
    "TOKEN_EXPIRED": ExitCode.NOT_ALLOWED,
    "FORBIDDEN": ExitCode.NOT_ALLOWED,
    "TOPIC_NOT_FOUND": ExitCode.NOT_FOUND,
    "PARTITION_NOT_FOUND": ExitCode.NOT_FOUND,
    "GROUP_NOT_FOUND": ExitCode.NOT_FOUND,
    "MESSAGE_NOT_FOUND": ExitCode.NOT_FOUND,
    "KEY_NOT_FOUND": ExitCode.NOT_FOUND,
    "MESSAGE_EXPIRED": ExitCode.NOT_FOUND,
    "SCHEDULE_NOT_FOUND": ExitCode.NOT_FOUND,
    "REDRIVE_NOT_FOUND": ExitCode.NOT_FOUND,
    "TOKEN_NOT_FOUND": ExitCode.NOT_FOUND,
    "MEMBER_UNKNOWN": ExitCode.NOT_FOUND,
    "PRODUCER_UNKNOWN": ExitCode.NOT_FOUND,
    "NAMESPACE_NOT_FOUND": ExitCode.NOT_FOUND,
    "INVALID_JSON": ExitCode.USAGE,
    "INVALID_FIELD": ExitCode.USAGE,
    "UNKNOWN_FIELD": ExitCode.USAGE,
    "MISSING_FIELD": ExitCode.USAGE,
    "INVALID_NAME": ExitCode.USAGE,
    "INVALID_MESSAGE_ID": ExitCode.USAGE,
    "INVALID_RECEIPT": ExitCode.USAGE,
    "INVALID_CRON": ExitCode.USAGE,
    "INVALID_FILTER": ExitCode.USAGE,
    "INVALID_ARGUMENT": ExitCode.USAGE,
    "UNAVAILABLE": ExitCode.SERVER_AWAY,
    "KEYS_UNAVAILABLE": ExitCode.SERVER_AWAY,
    "AUDIT_UNAVAILABLE": ExitCode.SERVER_AWAY,
    "SHUTTING_DOWN": ExitCode.SERVER_AWAY,
}
HINT_SCHEDULE_ID = "A schedule id begins with s-, as acklog send --delay and acklog schedule list print it."
_HINTS = {
    "TOKEN_NOT_FOUND": "See what there is: acklog tokens list.",
    "UNAUTHENTICATED": "Give a token: --token, ACKLOG_TOKEN, or acklog profile add NAME --server URL --ask-token.",
    "TOKEN_EXPIRED": "Get another token from whoever gave this one, or have its end moved.",
    "AUDIT_UNAVAILABLE": "Nothing was done. The topic __audit takes no records now: acklog cluster status.",
    "KEYS_UNAVAILABLE": "The server cannot ask the issuer of the tokens: see its log, and acklog doctor.",
    "FORBIDDEN": "Use a token that may do this; whoever runs the server grants what a token allows.",
    "TOPIC_NOT_FOUND": "See what there is: acklog topics list. A topic is made by the first send to it.",
    "PARTITION_NOT_FOUND": "See the topic's partitions: acklog topics show TOPIC.",
    "PARTITION_DECOMMISSIONED": "Send without a partition, or to one that takes messages: acklog topics show TOPIC.",
    "GROUP_NOT_FOUND": "See what there is: acklog groups list. A group is made by its first receive.",
    "MESSAGE_NOT_FOUND": "Look at what there is: acklog peek TOPIC; for later: acklog schedule list TOPIC.",
    "MESSAGE_EXPIRED": "How long a topic keeps messages, and which: acklog topics show TOPIC.",
    "SCHEDULE_NOT_FOUND": "See what there is: acklog schedule list TOPIC --recurring.",
    "SCHEDULE_OVER": "What became of it: acklog why SCHEDULE_ID.",
    "LOG_DIVERGED": "Messages were lost after they were read: look at the server's log, and begin again.",
    "OFFSET_OUT_OF_RANGE": "See where the log begins and ends: acklog topics show TOPIC.",
    "WRONG_GROUP_MODE": "A group's mode never changes: acklog groups describe GROUP shows it. Take another group.",
    "MEMBER_UNKNOWN": "Its session is over, or it left: receive again, and it joins. acklog groups describe GROUP",
    "MEMBER_EXISTS": "Take another name for this process, or wait until that one's session is over.",
    "MEMBER_FENCED": "Others have its partitions by now; what was under way comes again there. Receive again to join.",
    "POSITION_MISSING": "Say where the group goes on: acklog seek GROUP TOPIC --to earliest.",
    "NO_MASTER_KEY": "Give every node the same master key: --master-key-file, and start it again.",
    "NOT_ENCRYPTED": "Encrypt it first: acklog topics update TOPIC --encryption on.",
    "NODES_TOO_OLD": "Upgrade the nodes that are named: acklog cluster status.",
    "INVALID_NAME": "Names have letters, digits, '.', '_' and '-', at most 249, and do not begin with '__'.",
    "INVALID_MESSAGE_ID": "A message id begins with m-, as acklog send prints it.",
    "INVALID_RECEIPT": "A receipt begins with r-, as acklog receive prints it.",
    "RECEIPT_STALE": "Somebody else may have the message now. What became of it: acklog why MESSAGE_ID.",
    "NOT_DELIVERED": "Only what a group has received can be acknowledged. Its state: acklog why MESSAGE_ID.",
    "IDEMPOTENCY_KEY_REUSED": "Take another dedup id, or send the same content as the first time.",
    "MESSAGE_TOO_LARGE": "Send a reference to where the content is stored instead, or make it smaller.",
    "OVERLOADED": "Nothing was lost. Try again in a moment.",
    "DEDUP_WINDOW_FULL": "Try again when the topic's deduplication window has moved on, or make it shorter.",
    "DEDUP_WINDOW_DAMAGED": "Try again when the damaged batch has left the topic's deduplication window.",
    "STORAGE_FULL": "Free some space on the server's disk, or shorten retention: acklog topics update.",
    "STORAGE_FAILED": "See the server's log: its disk failed, and it stopped serving to lose nothing.",
    "RECORDS_CORRUPT": "Check the data directory with the server stopped: acklog fsck DIRECTORY.",
    "UNAVAILABLE": "Try again in a moment; acklog doctor looks at the server.",
    "NOT_ENOUGH_REPLICAS": "Nothing was stored. See which nodes are missing: acklog cluster status.",
    "SHUTTING_DOWN": "Try again when the server is back.",
    "TLS_FAILED": "Files are named by --ca-file, --certificate-file and --key-file, or kept by acklog profile add.",
    "UNEXPECTED_ANSWER": "Is the address that of an Acklog server? See which one is asked: acklog profile show.",
    "OUTCOME_UNKNOWN": "It may have been stored. Send it again with the same --dedup-id, and it is stored once.",
}
_VERBS = frozenset({"is", "are", "has", "may", "must", "cannot", "needs", "should", "was", "does", "belongs"})
_HINT_SERVER_AWAY = "Is the server running? Start one: acklog serve. Another address: --server URL, ACKLOG_URL."
_HINT_TOO_SLOW = "Give it longer with --timeout SECONDS, or look at the server: acklog doctor."


class CommandError(Exception):
    """A command cannot do what was asked. `what` is one sentence; `field` names the argument that is at fault."""

    def __init__(
        self,
        what: str,
        *,
        exit_code: ExitCode = ExitCode.FAILED,
        field: str = "",
        near: Sequence[str] = (),
        hint: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.exit_code = exit_code
        self.field = field
        self.near = tuple(near)
        self.hint = hint


class UsageError(CommandError):
    """The command line does not make sense."""

    def __init__(self, what: str, *, field: str = "", near: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(what, exit_code=ExitCode.USAGE, field=field, near=near, hint=hint)


@dataclass(frozen=True, slots=True)
class ShownFailure:
    """A failure, ready to be shown."""

    what: str
    exit_code: ExitCode
    code: str = ""
    field: str = ""
    near: tuple[str, ...] = ()
    hint: str = ""

    def text(self) -> str:
        """For people: what happened, near names, what to do."""
        lines = [f"acklog: {one_line(self.what + self._where())}"]
        if self.near:
            shown = ", ".join(one_line(name) for name in self.near[:NEAR_SHOWN_MAX])
            lines.append(f"  Did you mean: {shown}?")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def line(self) -> str:
        """For one of many: what happened and where, on one line."""
        near = f"; near: {', '.join(self.near[:NEAR_SHOWN_MAX])}" if self.near else ""
        return one_line(f"{self.code + ': ' if self.code else ''}{self.what}{self._where()}{near}")

    def _where(self) -> str:
        return f" ({self.field})" if self.field and self.field not in self.what else ""

    def document(self) -> dict[str, object]:
        """For --json."""
        error: dict[str, object] = {"detail": self.what, "exitCode": int(self.exit_code)}
        if self.code:
            error["code"] = self.code
        if self.field:
            error["field"] = self.field
        if self.near:
            error["near"] = list(self.near)
        if self.hint:
            error["hint"] = self.hint
        return {"error": error}


def explain(error: BaseException, *, server: str = "") -> ShownFailure | None:
    """The failure that an exception means; None for one that is a mistake in this program."""
    from acklog.errors import AcklogError

    if isinstance(error, CommandError):
        return ShownFailure(error.what, error.exit_code, field=error.field, near=error.near, hint=error.hint)
    if isinstance(error, AcklogError):
        return _of_sdk(error, server)
    return None


def _of_sdk(error: "AcklogError", server: str) -> ShownFailure:
    from acklog.errors import ConnectionFailed, DeadlineExceeded

    detail = str(error.detail or error).removesuffix("; is the server running?")
    if isinstance(error, ConnectionFailed):
        what = f"no connection to {server}: {detail}" if server and server not in detail else detail
        hint = _HINTS.get(error.code, _HINT_SERVER_AWAY)
        return ShownFailure(what, ExitCode.SERVER_AWAY, code=error.code, hint=hint)
    if isinstance(error, DeadlineExceeded):
        return ShownFailure(detail, ExitCode.SERVER_AWAY, code=error.code, hint=_HINT_TOO_SLOW)
    return ShownFailure(
        _sentence(detail, error.field or ""),
        _EXIT_CODES.get(error.code, ExitCode.FAILED),
        code=error.code,
        field=error.field or "",
        near=tuple(error.near),
        hint=_hint_of(error),
    )


def _hint_of(error: "AcklogError") -> str:
    if error.code == "INVALID_MESSAGE_ID" and error.field == "scheduleId":
        return HINT_SCHEDULE_ID
    return _HINTS.get(error.code, "Try again in a moment." if error.retriable else "")


def _sentence(detail: str, field: str) -> str:
    """The server's detail with the subject that its field is to it, and without near names: those have their line."""
    what = detail.partition("; similar: ")[0]
    has_subject = not field or what.partition(" ")[0] not in _VERBS
    return what if has_subject else f"{field} {what}"


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """Which of `known` someone who wrote `name` may have meant, the nearest first."""
    starting = [each for each in known if name and each.startswith(name)]
    close = get_close_matches(name, known, n=NEAR_SHOWN_MAX, cutoff=0.6)
    return list(dict.fromkeys([*close, *starting]))[:NEAR_SHOWN_MAX]
