"""One run of one topic, step by step. It may be killed anywhere; the next run goes on from what is written down.

1. Recover: give the files of the last committed manifest their names.
2. Plan, and write the plan down; or take the plan of a run that was never committed.
3. Write all rows into a staging directory that nobody else uses.
4. Read them again: every offset once, but for gaps that the server explains.
5. Commit one manifest, where there is none with this number. From here on the run has happened.
6. Give the files their names, and remove what nobody needs any more.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from pyspark_acklog.export.changes import changes_of, is_readable, removed_offsets
from pyspark_acklog.export.compaction import SMALL_FILES_MAX, is_small, joins_of
from pyspark_acklog.export.directory import ExportDirectory
from pyspark_acklog.export.failures import (
    ExportError,
    NoTopicError,
    RemovedOffsetsError,
    RunUnderWayError,
    StorageError,
    UnexplainedGapError,
)
from pyspark_acklog.export.layout import LayoutWish, TableLayout
from pyspark_acklog.export.manifest import ExportedFile, Manifest, Move
from pyspark_acklog.export.owner import Claim, Owner
from pyspark_acklog.export.plan import Plan, Wanted, pieces_of
from pyspark_acklog.export.ports import Figures, Found, Log, TopicBounds, Workshop, total
from pyspark_acklog.export.spans import Gap, Span, joined, total_length, without
from pyspark_acklog.export.storage import Storage

PLANS_TRIED_MAX = 10
ROWS_TELLING_MIN = 1_000
"""Rows of one run from which on they say how large a row is."""


class Watcher(Protocol):
    """Is told how far a run has come."""

    def planned(self, plan: Plan, *, is_resumed: bool) -> None: ...

    def step(self, name: str) -> None: ...


class SilentWatcher:
    """For nobody."""

    def planned(self, plan: Plan, *, is_resumed: bool) -> None:
        return

    def step(self, name: str) -> None:
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What the command's options say."""

    layout: LayoutWish = field(default_factory=LayoutWish)
    target_file_bytes: int
    has_gaps_allowed: bool = False
    is_joining: bool = True


class Run:
    """Runs of one process: each topic is a run of its own."""

    def __init__(
        self,
        storage: Storage,
        log: Log,
        workshop: Workshop,
        settings: RunSettings,
        owner: Owner,
        *,
        watcher: Watcher | None = None,
        while_at_work: Callable[[Claim], AbstractContextManager[None]] = lambda _claim: nullcontext(),
    ) -> None:
        self._storage = storage
        self._log = log
        self._workshop = workshop
        self._settings = settings
        self._owner = owner
        self._watcher = watcher or SilentWatcher()
        self._while_at_work = while_at_work

    def run(self, topic: str) -> list[Manifest]:
        """What was committed: the run that another process began and did not finish, if there is one, and what has
        come since. Empty where there is nothing new. Raises SparkSourceError."""
        directory = ExportDirectory(self._storage, topic)
        committed: list[Manifest] = []
        while True:
            last = recovered(directory, self._workshop)
            wanted = Wanted(self._layout(last), self._settings.target_file_bytes)
            claim = Claim(directory, self._owner, 1 if last is None else last[0].number + 1)
            claim.make()
            with self._while_at_work(claim):
                try:
                    plan, is_resumed = self._plan(directory, last, wanted)
                except Exception:
                    self._discard(claim.path)
                    raise
                if plan is None:
                    self._storage.delete_tree(claim.path)
                    return committed
                self._watcher.planned(plan, is_resumed=is_resumed)
                committed.append(self._execute(directory, last, plan, claim.path))
            if not is_resumed:
                return committed

    def _layout(self, last: tuple[Manifest, str] | None) -> TableLayout:
        wish = self._settings.layout
        return wish.on(None) if last is None else wish.on(last[0].layout, number=last[0].number)

    # --- the plan ----------------------------------------------------------------------------------------------------

    def _plan(
        self, directory: ExportDirectory, last: tuple[Manifest, str] | None, wanted: Wanted
    ) -> tuple[Plan | None, bool]:
        """The plan with whether another run made it; None where there is nothing to do."""
        self._watcher.step("plan")
        number = 1 if last is None else last[0].number + 1
        for _ in range(PLANS_TRIED_MAX):
            pending = directory.plan(number)
            bounds: TopicBounds | None
            try:
                bounds = self._log.bounds(directory.topic)
            except NoTopicError:
                if last is None and pending is None:
                    raise
                bounds = None
            if pending is not None and pending.serves(wanted) and is_readable(pending, bounds):
                return pending, True
            plan = self._new_plan(directory.topic, last, wanted, bounds, pending)
            if plan is None or directory.put_plan(plan):
                return plan, False
        raise RunUnderWayError(
            f"other runs plan an export of {directory.topic} at the same time: let one of them go on"
        )

    def _new_plan(
        self,
        topic: str,
        last: tuple[Manifest, str] | None,
        wanted: Wanted,
        bounds: TopicBounds | None,
        pending: Plan | None,
    ) -> Plan | None:
        changes = changes_of(topic, bounds, None if last is None else last[0], pending)
        if not self._settings.has_gaps_allowed:
            changes.refuse_losses(topic)
        spans, gaps, ended = changes.spans, changes.gaps, changes.ended
        left = without(spans, (gap.span for gap in gaps))
        small = () if last is None or not self._settings.is_joining else last[0].small
        target = wanted.target_file_bytes
        joins = joins_of(small, target_bytes=target, suffix=wanted.layout.suffix)
        if wanted.layout.format == "delta":
            joins = ()  # Delta's own OPTIMIZE does that
        if not total_length(spans) and not joins and not ended:
            return None
        row_bytes = 1.0 if last is None else last[0].row_bytes
        if left and (last is None or last[0].row_bytes <= 0):
            largest = max(left, key=lambda span: span.length)
            row_bytes = self._workshop.row_bytes(topic, largest, wanted.layout)
        return Plan(
            topic=topic,
            number=1 if last is None else last[0].number + 1,
            revision=1 if pending is None else pending.revision + 1,
            planned_at_ms=self._owner.started_at_ms,
            layout=wanted.layout,
            target_file_bytes=target,
            row_bytes=row_bytes,
            spans=tuple(spans),
            gaps=tuple(gaps),
            pieces=pieces_of(left, row_bytes=row_bytes, target_bytes=target),
            joins=joins,
            ended=tuple(ended),
        )

    # --- carrying it out ---------------------------------------------------------------------------------------------

    def _execute(
        self, directory: ExportDirectory, last: tuple[Manifest, str] | None, plan: Plan, staging: str
    ) -> Manifest:
        try:
            manifest = self._prepared(directory, last, plan, staging)
        except Exception as error:
            self._discard(staging)
            if plan.number in directory.numbers():  # whoever committed it has removed what this run had staged
                raise self._was_beaten(plan) from error
            raise
        self._watcher.step("commit")
        # A failure here may hide that it is committed: then the next run needs what was staged.
        if not directory.commit(manifest):
            self._storage.delete_tree(staging)
            raise self._was_beaten(plan)
        settle(directory, manifest, self._workshop)
        return manifest

    def _discard(self, path: str) -> None:
        """Whatever cannot be removed now is removed after a later run."""
        with contextlib.suppress(StorageError):
            self._storage.delete_tree(path)

    def _was_beaten(self, plan: Plan) -> RunUnderWayError:
        return RunUnderWayError(
            f"another run committed number {plan.number} of {plan.topic} to {self._storage.root} first:"
            " this one has added nothing; run again for what has come since"
        )

    def _prepared(
        self, directory: ExportDirectory, last: tuple[Manifest, str] | None, plan: Plan, staging: str
    ) -> Manifest:
        """The manifest of all that was written, read again and found right. Raises SparkSourceError."""
        found, gaps = Found((), (), ()), list(plan.gaps)
        if plan.pieces:
            data = f"{staging}/data"
            self._watcher.step("write")
            written = self._workshop.write(plan, data)
            self._watcher.step("read back")
            found = self._workshop.found(plan, data)
            if total(file.figures for file in found.files) != written:
                raise UnexplainedGapError(
                    f"the files of {plan.topic} have other rows than were read from the server: nothing was committed"
                )
            gaps += self._checked_gaps(plan, found)
        files, moves = _named(directory, plan, found)
        joined_files = []
        for number, join in enumerate(plan.joins):
            self._watcher.step("join")
            made = self._workshop.join(plan.layout, join, f"{staging}/join-{number}")
            _check_joined(join.files, made.figures, join.target)
            spans = tuple(joined(span for file in join.files for span in file.spans))
            figures = made.figures
            checksum = f"{figures.checksum:016x}"
            joined_files.append(
                ExportedFile(join.target, figures.rows, made.size_bytes, figures.value_bytes, checksum, spans)
            )
            moves.append(Move(made.path, join.target))
        self._watcher.step("flush")
        self._storage.make_durable(move.source for move in moves)
        manifest = _manifest(last, plan, staging, files=files, joined_files=joined_files, moves=moves, gaps=gaps)
        # A list that no run is going to use would be in every manifest anew.
        return manifest if self._settings.is_joining else msgspec.structs.replace(manifest, small=())

    def _checked_gaps(self, plan: Plan, found: Found) -> list[Gap]:
        """Gaps that were not known when the plan was made. Raises UnexplainedGapError, RemovedOffsetsError."""
        planned = [span for piece in plan.pieces for span in piece.spans]
        if found.twice:
            raise UnexplainedGapError(f"{plan.topic} {found.twice[0]} is there more than once: nothing was committed")
        foreign = without(found.seen, planned)
        if foreign:
            raise UnexplainedGapError(f"{plan.topic} {foreign[0]} was not to be read: nothing was committed")
        missing = without(planned, found.seen)
        gaps = self._log.explain(plan.topic, missing) if missing else []
        unexplained = without(missing, (gap.span for gap in gaps))
        if unexplained:
            raise UnexplainedGapError(
                f"{plan.topic} {unexplained[0]} is not in the files, and the server does not say why:"
                " nothing was committed"
            )
        if not self._settings.has_gaps_allowed:
            removed = [gap for gap in gaps if gap.reason == "retention"]
            if removed:
                raise removed_offsets(plan.topic, removed)
            if gaps:
                raise _hole(plan.topic, gaps)
        return gaps


def recovered(directory: ExportDirectory, workshop: Workshop) -> tuple[Manifest, str] | None:
    """The last manifest with its digest, once all its files have their names."""
    last = directory.last()
    if last is not None and directory.storage.list_files(last[0].staging):
        settle(directory, last[0], workshop)
    return last


def settle(directory: ExportDirectory, manifest: Manifest, workshop: Workshop) -> None:
    """What a committed manifest promises, as often as it is called. Raises StorageError where a file is lost."""
    storage = directory.storage
    if manifest.layout.format == "delta":
        sources = [move.source for move in manifest.moves]
        if sources:
            workshop.publish(manifest.layout, manifest.topic, manifest.number, sources)
        directory.clean(manifest.number)
        return
    # First away with what was joined: whoever reads in between may miss rows, and never sees one twice.
    for path in manifest.replaced:
        storage.move(path, directory.replaced_path(manifest.number, path))
    lost = [move for move in manifest.moves if not storage.move(move.source, move.target)]
    if lost:
        present = {file.path for file in storage.list_files(directory.table_path)}
        for move in lost:
            if move.target not in present and _is_last(directory, manifest):
                raise StorageError(f"{move.target} is neither there nor at {move.source}: was it removed by hand?")
    directory.clean(manifest.number)


def _is_last(directory: ExportDirectory, manifest: Manifest) -> bool:
    """Whether no later run may have joined its files meanwhile."""
    return directory.numbers()[-1] == manifest.number


def _hole(topic: str, gaps: Sequence[Gap]) -> RemovedOffsetsError:
    count = total_length(gap.span for gap in gaps)
    return RemovedOffsetsError(
        f"{count:,} offsets in the middle of {topic} have no message ({gaps[0].span}): the log may be damaged; acklog"
        " fsck says so. Go on with --allow-gaps, which records them as gaps"
    )


def _named(directory: ExportDirectory, plan: Plan, found: Found) -> tuple[list[ExportedFile], list[Move]]:
    """The files under the names that they are going to have. Raises ExportError for two of one name."""
    files: list[ExportedFile] = []
    moves: list[Move] = []
    for each in sorted(found.files, key=lambda file: (file.piece, file.directory)):
        piece = plan.pieces[each.piece]
        parts = [directory.table_path, each.directory, f"{piece.name}.{plan.layout.suffix}"]
        path = "/".join(part for part in parts if part)
        figures = each.figures
        checksum = f"{figures.checksum:016x}"
        files.append(ExportedFile(path, figures.rows, each.size_bytes, figures.value_bytes, checksum, piece.spans))
        moves.append(Move(each.path, path))
    if len({file.path for file in files}) != len(files):
        raise ExportError("a piece has become two files of one directory: unset spark.sql.files.maxRecordsPerFile")
    return files, moves


def _check_joined(files: Sequence[ExportedFile], figures: Figures, target: str) -> None:
    if figures != total(Figures(file.rows, file.value_bytes, int(file.checksum, 16)) for file in files):
        raise UnexplainedGapError(f"{target} would have other rows than the files that it joins: nothing was committed")


def _manifest(
    last: tuple[Manifest, str] | None,
    plan: Plan,
    staging: str,
    *,
    files: Sequence[ExportedFile],
    joined_files: Sequence[ExportedFile],
    moves: Sequence[Move],
    gaps: Sequence[Gap],
) -> Manifest:
    before = {(span.topic_id, span.partition): span for span in (() if last is None else last[0].positions)}
    for span in plan.spans:
        log = (span.topic_id, span.partition)
        start = before[log].start if log in before else span.start
        before[log] = Span(span.topic_id, span.partition, start, span.end)
    ended = {(each.topic_id, each.partition): each for each in (() if last is None else last[0].ended)}
    ended.update({(each.topic_id, each.partition): each for each in plan.ended})
    replaced = {file.path for join in plan.joins for file in join.files}
    kept = [file for file in (() if last is None else last[0].small) if file.path not in replaced]
    all_files = [*files, *joined_files]
    small = list(_small([*kept, *all_files], plan.target_file_bytes))
    return Manifest(
        topic=plan.topic,
        number=plan.number,
        previous="" if last is None else last[1],
        plan=plan.digest,
        planned_at_ms=plan.planned_at_ms,
        staging=staging,
        layout=plan.layout,
        target_file_bytes=plan.target_file_bytes,
        row_bytes=_row_bytes(plan, files),
        spans=plan.spans,
        gaps=tuple(sorted(gaps)),
        files=tuple(all_files),
        moves=tuple(moves),
        replaced=tuple(sorted(replaced)),
        positions=tuple(sorted(before.values())),
        small=tuple(small[-SMALL_FILES_MAX:]),
        ended=tuple(sorted(ended.values())),
    )


def _small(files: Sequence[ExportedFile], target_bytes: int) -> Iterator[ExportedFile]:
    for file in files:
        if is_small(file, target_bytes=target_bytes):
            yield file


def _row_bytes(plan: Plan, files: Sequence[ExportedFile]) -> float:
    """As this run has shown it, where it has rows enough in files that are not too small to tell."""
    telling = [file for file in files if file.rows >= ROWS_TELLING_MIN]
    rows = sum(file.rows for file in telling)
    return sum(file.size_bytes for file in telling) / rows if rows else plan.row_bytes
