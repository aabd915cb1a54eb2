"""`acklog restore --give-up`: throws away what a restore has begun, also where its backup cannot be read any more."""

import shlex
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from acklog.backup.backup_error import BackupError
from acklog.backup.begun_restores import BegunRestore, BegunRestores
from acklog.backup.restore_plan import restore_plan
from acklog.command.failures import CommandError
from acklog.command.quantities import count_text
from acklog.command.views import Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from acklog.backup.manifest import Manifest
    from acklog.client.copies import Copies
    from acklog.command.session import Session


class GivingUp:
    """Of the topics that match one of the patterns, `names` being those that are called otherwise than in the
    backup."""

    def __init__(self, session: "Session", copies: "Copies", topics: Sequence[str], names: "Mapping[str, str]") -> None:
        self._session = session
        self._restores = BegunRestores(copies)
        self._topics = topics
        self._names = names

    def give_up(self, run_id: str | None, manifest: "Callable[[], Manifest]") -> None:
        """Of that run, or of the one whose `manifest` it is. Raises CommandError where nobody knows which that is."""
        try:
            known = manifest()
        except BackupError as error:
            chosen = self._by_run(run_id, error)
        else:
            plans = {plan.name: plan for plan in restore_plan(known, topics=self._topics, names=self._names)}
            chosen = [each for each in self._restores.of(plans) if each.is_of(plans[each.topic])]
        for each in chosen:
            self._restores.give_up(each)
        if not chosen:
            self._tell(self._restores.all())
        given_up = [each.topic for each in chosen]
        self._session.output.show({"givenUp": given_up}, Sentence(f"Given up: {', '.join(given_up) or 'nothing'}."))

    def _by_run(self, run_id: str | None, error: BackupError) -> Collection[BegunRestore]:
        """The server knows which run a restore is of. Raises CommandError where nobody says which is meant."""
        begun = [each for each in self._restores.all() if self._is_called_so(each.topic)]
        if run_id is not None:
            return [each for each in begun if each.is_of_run(run_id)]
        if not begun:
            return []
        self._tell(begun)
        raise CommandError(
            f"which of {count_text(len(begun), 'topic')} to give up is not known: {error.detail}",
            hint="Name the run by --run RUN, or delete the topics.",
        )

    def _is_called_so(self, topic: str) -> bool:
        if topic in self._names.values():
            return True
        return topic not in self._names and any(fnmatchcase(topic, pattern) for pattern in self._topics)

    def _tell(self, begun: Sequence[BegunRestore]) -> None:
        for each in begun:
            self._session.output.note(
                f"The restore {each.restore_id} fills the topic {each.topic}. This throws it away: "
                f"acklog topics delete {shlex.quote(each.topic)}"
            )
