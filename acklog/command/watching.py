"""Looking again and again: what `--watch` does."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from acklog.command.failures import explain
from acklog.command.output import LiveView
from acklog.command.session import Session

INTERVAL_S_MIN = 0.2
INTERVAL_S_MAX = 3600.0
INTERVAL_S_DEFAULT = 2.0

IntervalOption = Annotated[
    float,
    typer.Option("--interval", metavar="SECONDS", min=INTERVAL_S_MIN, max=INTERVAL_S_MAX, help="Between two looks."),
]
LooksOption = Annotated[
    int | None, typer.Option("--max", metavar="COUNT", min=1, help="With --watch: stop after so many looks.")
]

_Seen = TypeVar("_Seen")


def watch(
    session: Session,
    look: Callable[[], _Seen],
    show: Callable[[LiveView, _Seen], None],
    *,
    interval_s: float,
    looks_max: int | None,
    is_over: Callable[[_Seen], bool] = lambda seen: False,
) -> bool:
    """Look and show until it is over, `looks_max` times, or for ever; whether it was over.

    The first look may fail (it raises AcklogError); later ones that fail in passing are told of and tried again.
    """
    from acklog.errors import AcklogError

    output = session.output
    count = 0
    with output.live() as view:
        while looks_max is None or count < looks_max:
            if count:
                session.pause(interval_s)
            count += 1
            try:
                seen = look()
            except AcklogError as error:
                if count == 1 or not error.retriable:
                    raise
                failure = explain(error, server=session.server.url)
                output.note(f"{'' if failure is None else failure.what}; looking again")
                continue
            show(view, seen)
            if is_over(seen):
                return True
    return False
