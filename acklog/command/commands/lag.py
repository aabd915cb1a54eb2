"""`acklog lag`: how far groups are behind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.lag_figures import LagRates, TopicLag, lags_of
from acklog.command.lag_view import lag_table
from acklog.command.session import Session, session_of
from acklog.command.topic_names import complete_groups, complete_topics
from acklog.command.tree import CommandTyper
from acklog.command.views import Table
from acklog.command.watching import INTERVAL_S_DEFAULT, IntervalOption, LooksOption, watch

if TYPE_CHECKING:
    from acklog import Client

command = CommandTyper(name="lag")


@command.command("lag")
def lag(
    context: typer.Context,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="Only this group; may repeat.", autocompletion=complete_groups
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", help="Only this topic; may repeat.", autocompletion=complete_topics
        ),
    ] = None,
    with_partitions: Annotated[bool, typer.Option("--partitions", help="Partition by partition.")] = False,
    is_watched: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")] = False,
    interval_s: IntervalOption = INTERVAL_S_DEFAULT,
    looks_max: LooksOption = None,
) -> None:
    """Show what groups have not done yet, by topic.

    lag: messages that are not done; oldest: how long ago the first of them was sent; in flight: leased right
    now; delayed: given back, to come later; dead: went to the dead-letter topic; lost: removed by retention
    before they were done.
    """
    session = session_of(context)
    with session.client() as client:
        looker = _Looker(session, client, groups or [], topics or [], with_partitions=with_partitions)
        if is_watched:
            looker.watch(interval_s, looks_max)
        else:
            lags = looker.look()
            session.output.show(looker.document(lags), looker.table(lags, LagRates(), now_ms=0))


class _Looker:
    """One look after another."""

    def __init__(
        self,
        session: Session,
        client: "Client",
        groups: Sequence[str],
        topics: Sequence[str],
        *,
        with_partitions: bool,
    ) -> None:
        self._session = session
        self._client = client
        self._groups = groups
        self._topics = topics
        self._with_partitions = with_partitions

    def look(self) -> list[TopicLag]:
        """Raises AcklogError. A group that is deleted between two calls is left out."""
        from acklog.errors import GroupNotFound

        found: list[TopicLag] = []
        names = self._groups or [group.name for group in self._client.groups.list()]
        for name in names:
            try:
                found += lags_of(self._client.groups.offsets(name, self._topics or None))
            except GroupNotFound:
                if self._groups:
                    raise
        return found

    def watch(self, interval_s: float, looks_max: int | None) -> None:
        """With how many are done per second, from the second look on."""
        rates = LagRates()
        watch(
            self._session,
            self.look,
            lambda view, lags: view.update(self.document(lags), self.table(lags, rates, now_ms=self._session.now_ms())),
            interval_s=interval_s,
            looks_max=looks_max,
        )

    def document(self, lags: Sequence[TopicLag]) -> dict[str, object]:
        """For --json."""
        return {
            "time": self._session.now_ms(),
            "lag": sum(each.lag for each in lags),
            "groups": [each.document(with_partitions=self._with_partitions) for each in lags],
        }

    def table(self, lags: Sequence[TopicLag], rates: LagRates, *, now_ms: int) -> Table:
        return lag_table(
            lags,
            with_partitions=self._with_partitions,
            rates=rates.take(lags, now_ms=now_ms),
            empty="No group has read anything yet." if not self._groups else "The group has not read anything there.",
        )
