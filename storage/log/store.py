"""The storage engine of a node: all logs of one data directory, one journal, one group commit."""

from functools import partial

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskRefusedError
from storage.log.ballast import release_ballast
from storage.log.data_directory import DirectoryMeta, open_data_directory
from storage.log.directory_recovery import Recovered, recover_directory
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.identity_writer import IdentityWriter
from storage.log.journal import Journal
from storage.log.kept_batches import forget_all_kept, forget_kept
from storage.log.keys import LogKey
from storage.log.log_directory import remove_log_directory
from storage.log.log_settings import LogSettings, LogStoreSettings
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.opening import begin_evidence, take_journal_files
from storage.log.partition_log import PartitionLog
from storage.log.recovery_points import RecoveryPoint
from storage.log.scrub import Scrub
from storage.log.segment import Segment
from storage.log.uncancelled import uncancelled


class LogStore:
    """One per data directory, opened by one process at a time.

    `scrub` verifies what nobody reads; `report` says what recovery found; `directory_id` was made with the directory;
    `failure` is why nothing is served, None if all is well.
    """

    def __init__(self, engine: Engine, meta: DirectoryMeta, recovered: Recovered) -> None:
        """For `open` only."""
        settings = engine.settings
        self._engine = engine
        self._meta = meta
        self._states = recovered.states
        self._removed: dict[str, int] = {}
        self._journal = Journal(
            engine.disk,
            journal_key=meta.journal_key,
            sequence=recovered.sequence,
            life=recovered.life,
            file_bytes=settings.journal_file_bytes,
            files_max=settings.journal_files_max,
        )
        self._maintenance = Maintenance(engine, self._journal, states=self._states, removed=self._removed)
        self._commit = GroupCommit(
            engine, self._journal, sync_now=self._maintenance.sync_now, sync_soon=self._maintenance.wake
        )
        self._logs = {
            key: PartitionLog(engine, self._commit, self._maintenance, state) for key, state in self._states.items()
        }
        self.report = recovered.report
        self.undecryptable = engine.undecryptable
        self._identities = IdentityWriter(engine, self._maintenance, self._states, recovered.unnamed)
        self.scrub = Scrub(engine, self._logs, on_crashed=engine.fail)

    @property
    def directory_id(self) -> str:
        return self._meta.directory_id

    @property
    def failure(self) -> str | None:
        return self._engine.failure

    def fail(self, reason: str) -> None:
        """Stop serving the directory for ever: something in it that acknowledgements rest on could not be synced."""
        self._engine.fail(reason)

    @property
    def pending_bytes(self) -> int:
        """Bytes of the appends that wait for the disk."""
        return self._commit.pending_bytes

    @property
    def rounds(self) -> int:
        """How often waiting appends became durable."""
        return self._commit.rounds

    @property
    def reserve_bytes(self) -> int:
        """Below so much free space only acknowledgements are taken."""
        return self._engine.settings.reserve_bytes

    @property
    def free_bytes(self) -> int:
        """Room on the disk."""
        return self._engine.disk.free_bytes()

    @property
    def journal_files(self) -> int:
        """Files that hold entries which are not covered by a checkpoint, the one being written included."""
        return self._journal.full_files + 1

    @classmethod
    async def open(
        cls, *, disk: Disk, io: IoExecutor, clock: Clock, entropy: Entropy, settings: LogStoreSettings | None = None
    ) -> "LogStore":
        """Recover the directory, or make a new one; raises FileLockedError, DataDirectoryError, OSError and
        STORAGE_FULL.

        A store whose journal or recovery points are damaged opens with `failure` set and changes nothing on the disk.
        """
        settings = settings or LogStoreSettings()
        meta = await io.run(partial(open_data_directory, disk, entropy))
        await io.run(partial(release_ballast, disk, ballast_bytes=settings.ballast_bytes))
        engine = Engine(disk=disk, io=io, clock=clock, settings=settings)
        started_ms = clock.monotonic_ms()
        try:
            recovered = await recover_directory(engine, meta)
            store = cls(engine, meta, recovered)
            if engine.failure is None:
                await store._begin(recovered)
        except DiskRefusedError as error:
            raise engine.refused(error) from error
        store.report.duration_ms = clock.monotonic_ms() - started_ms
        return store

    async def _begin(self, recovered: Recovered) -> None:
        """Make the journal ready for the first append, and let what runs in the background begin."""
        engine, settings, sequence = self._engine, self._engine.settings, recovered.sequence
        evidence = partial(begin_evidence, engine.disk, journal_key=self._meta.journal_key, life=recovered.life)
        self._journal.keep_reach(await engine.io.run(evidence))
        # From here on every log is covered up to its end, so no file of the journal is needed.
        await self._maintenance.write_points(covered_sequence=sequence)
        needed = [key for key, state in self._states.items() if state.kept_end]
        await engine.io.run(partial(forget_all_kept, engine.disk, needed=needed))
        spares = await engine.io.run(
            partial(
                take_journal_files,
                engine.disk,
                file_bytes=settings.journal_file_bytes,
                files_kept=settings.journal_files_kept,
            )
        )
        for spare in spares:
            self._journal.adopt(spare)
        engine.on_failure = self._maintenance.wake
        engine.serves()
        self._maintenance.start()
        self._identities.start()
        self.scrub.start()

    # --- logs ---------------------------------------------------------------------------------------------------

    def keys(self) -> list[LogKey]:
        return sorted(self._logs)

    async def open_log(self, key: LogKey, settings: LogSettings) -> PartitionLog:
        """The log, an empty one if there is none: that has no files before its first append. An existing one gets the
        settings."""
        engine = self._engine
        if engine.failure is not None:
            raise engine.failed()
        if key not in self._logs:
            await uncancelled(self._create_missing_log(key, settings))
        log = self._logs[key]
        self._states[key].settings = settings
        return log

    async def _create_missing_log(self, key: LogKey, settings: LogSettings) -> None:
        async with self._maintenance.exclusive():
            if key not in self._logs:
                self._logs[key] = await self._create_log(key, settings)

    async def _create_log(self, key: LogKey, settings: LogSettings) -> PartitionLog:
        engine = self._engine
        state = LogState(key, settings, RecoveryPoint(journal_floor=self._removed.get(str(key), 0)))
        state.add_segment(Segment(key.directory, 0))
        if str(key) in self._removed:  # or a crash would remove the new log for the old one
            floor = self._removed.pop(str(key))
            self._states[key] = state
            try:
                await self._maintenance.write_points()
            except ServerError:
                self._removed[str(key)] = floor
                del self._states[key]
                raise
        self._states[key] = state
        return PartitionLog(engine, self._commit, self._maintenance, state)

    async def remove_log(self, key: LogKey) -> None:
        """Delete the log for ever; fine if there is none. Appends that wait fail with TOPIC_NOT_FOUND."""
        log = self._logs.get(key)
        if log is not None:
            await uncancelled(self._hold_and_remove_log(log))

    async def _hold_and_remove_log(self, log: PartitionLog) -> None:
        await log.hold()
        try:
            async with self._maintenance.exclusive():
                if self._engine.failure is not None:
                    raise self._engine.failed()
                if self._logs.get(log.key) is log:
                    await self._remove_log(log)
        finally:
            log.release()

    async def _remove_log(self, log: PartitionLog) -> None:
        """The removal is durable before the first file goes; a full disk is met before that, and changes nothing."""
        key, engine = log.key, self._engine
        state = self._states.pop(key)
        self._removed[str(key)] = self._maintenance.journal_sequence
        try:
            await self._maintenance.write_points()
        except ServerError:
            self._states[key] = state
            del self._removed[str(key)]
            raise
        del self._logs[key]
        engine.dirty.pop(state, None)
        log.abandon(ServerError(ProblemCode.TOPIC_NOT_FOUND, "the log has been removed"))

        has_sibling = any(sibling in self._states for sibling in key.siblings())

        def work() -> None:
            for segment in state.segments:
                engine.files.forget(segment.path)
            forget_kept(engine.disk, key)
            remove_log_directory(engine.disk, key, has_sibling=has_sibling)

        await self._maintenance.finish(work)

    async def sync(self) -> None:
        """Sync what is published and trim the journal now, rather than at the next interval."""
        await uncancelled(self._maintenance.sync_now())

    async def close(self) -> None:
        """Wait for pending appends, sync everything, write the checkpoints and mark the directory as clean."""
        engine = self._engine
        if engine.life in {Lifecycle.CLOSING, Lifecycle.CLOSED}:
            return
        engine.closing()
        await self.scrub.stop()
        await self._identities.stop()
        await self._commit.drain()
        await self._maintenance.stop()
        try:
            if engine.failure is None:
                await self._maintenance.close_cleanly()
        finally:
            self._journal.close()
            engine.files.close()
            engine.closed()
