"""A whole server, be it one process or a cluster, with its clients and its misfortunes, in one deterministic run.

Three phases (as TigerBeetle's simulator has them): safety, while faults go on; then everything is healed; then, within
a bounded time, everything must come to an end: all replicas in sync, all messages done for all groups. At last all
nodes are stopped and started again, the whole log is read, and every checker judges the history.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from cluster.errors import ServerError
from cluster.model.internal_topics import GROUPS_TOPIC, groups_topic_config
from cluster.model.values import Encryption, GroupMode, Topic, TopicConfig
from tests.sim.checkers import check_all, final_log
from tests.sim.clients import Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.availability import AvailabilityJudge
from tests.sim.cluster.coordination import NO_FAULTS, Coordination
from tests.sim.cluster.faults import Misfortune
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.inspector import Inspector, is_anything_scheduled, replicas_of
from tests.sim.cluster.lasting_faults import LastingMisfortune
from tests.sim.cluster.links import Links
from tests.sim.cluster.log_reader import LogReader
from tests.sim.cluster.machines import NodeMachine, Surrounding
from tests.sim.cluster.network import Network
from tests.sim.cluster.passing_judgement import judge_passing
from tests.sim.cluster.passing_topic import PassingTopic
from tests.sim.cluster.side_topics import SideTopics
from tests.sim.cluster.store_observer import StoreObserver, watching
from tests.sim.cluster.table_topic import TableJudge, create_table
from tests.sim.cluster.topology import Topology
from tests.sim.cluster.trimmed_topic import create_trimmed
from tests.sim.cluster.view_topic import create_view
from tests.sim.cluster.watermarks import Watermarks
from tests.sim.consumer import Consumer
from tests.sim.decider import Decider
from tests.sim.drawn_options import draw_cluster_options, draw_embedded_options
from tests.sim.environment import ExecutorKilledError, MachineClock
from tests.sim.filter_changer import filter_changes
from tests.sim.history import (
    AllDone,
    AutoAckedAnswerLost,
    DecidersRested,
    Faulted,
    History,
    Outcome,
    ProgressRead,
    Sent,
)
from tests.sim.judgement import checkers_for
from tests.sim.loop import SimLoop, simulate
from tests.sim.member_watcher import MemberWatcher
from tests.sim.observer import NobodyLeadsError, Observer
from tests.sim.options import Options
from tests.sim.pauser import pauses
from tests.sim.process import ProcessDiedError, current_process
from tests.sim.producer import Producer
from tests.sim.queue_label import PASSING, is_passing
from tests.sim.scheduler import Scheduler
from tests.sim.seats import seats_of
from tests.sim.seeker import seeking
from tests.sim.starting_groups import starting_groups

QUEUE = "orders"
SETUP_TIMEOUT_S = 120.0
CONVERGENCE_TIMEOUT_S = 300.0
QUIET_S = 5.0
STANDSTILL_S = 30.0
"""Longer than a lease, and all that is waited for in between: what does not go on within it, will not."""
INSPECTION_INTERVAL_S = 0.4
FAULTS_MIN = 3
CLOSING_MESSAGES = 10
COORDINATORS = 2
"""Partitions of the topic that holds the state of exclusive groups: as many as a run can afford."""


@dataclass(slots=True)
class Result:
    """What came of a seed. `violations` empty: all is well."""

    options: Options
    violations: list[str]
    coverage: Counter[str]
    trace_hash: str
    history: History
    virtual_s: float = 0.0
    logs: list[Any] = field(default_factory=list)


class World:
    """One seed's run; `run` it once."""

    def __init__(self, loop: SimLoop, options: Options, logs: Sequence[Mapping[str, Any]] = ()) -> None:
        """`logs` is what the servers say, as it goes on."""
        self.options = options
        self._logs = logs
        self.coverage: Counter[str] = Counter()
        self.history = History()
        self.violations: list[str] = []
        self._loop = loop
        self._random = random.Random(f"cluster world {options.seed}")
        links = Links(random.Random(f"links {options.seed}"), options.link)
        network_random = random.Random(f"network {options.seed}")
        self.network = Network(loop, links, network_random, self.coverage, cut_probability=options.cut_probability)
        self.coordination = Coordination(loop, links, random.Random(f"store {options.seed}"), self.coverage, NO_FAULTS)
        machine_around = Surrounding(loop, options, self.network, self.coordination, self.coverage)
        clock = MachineClock(loop)
        self.store = StoreObserver(
            self.coordination.store,
            self.history,
            self.coverage,
            lambda: float(clock.monotonic_ms()),
            directory_on=lambda node_id: self.hardware.directory_on(node_id),
        )
        self.hardware = Hardware(machine_around, self.store, self.violations)
        self.misfortune = Misfortune(machine_around, self.hardware, self.store)
        administrator = Administrator(self.hardware, self.coverage, options.seed)
        self.topology = Topology(machine_around, self.hardware, self.store, administrator)
        self.around = Surroundings(
            options.server,
            clock,
            self.history,
            self.coverage,
            http=self.hardware.some_gateway,
            also_expected=options.also_expected,
        )
        self.passing = PassingTopic(machine_around, self.around, self.store, administrator)
        self.side_topics = SideTopics(machine_around, self.around, administrator, self.hardware, self.store)
        self.table = TableJudge(self.around)
        self.observer = Observer(self.hardware, self.store, self.around)
        self.inspector = Inspector(self.store, self.coverage)
        self.watermarks = Watermarks(self.hardware, QUEUE)
        self.availability = AvailabilityJudge(QUEUE, self.coordination, self.hardware, self.store, self.around)
        self.lasting = LastingMisfortune(machine_around, self.hardware, self.availability)
        self._groups = options.group_names
        self._dead_letter_queues = {(group, QUEUE): f"{QUEUE}.{group}.dlq" for group in self._groups}
        self._deciders = [Decider(group, QUEUE, self.around) for group in options.blocking_groups]
        self._producers: list[asyncio.Task[None]] = []
        self._background: list[asyncio.Task[None]] = []
        self._administration: list[asyncio.Task[None]] = []
        self._is_converged = False
        self._has_final_looks = False
        self._is_over = False

    async def run(self) -> None:
        await self.set_up()
        self.coordination.faults = self.options.coordination
        clients = self._start_clients()
        administration = [
            *self.topology.changes(),
            *seeking(self.options, QUEUE, self.around, self._partitions),
            *pauses(self.options, QUEUE, self.around, self._partitions),
            *filter_changes(self.options, self.around),
            *self.side_topics.runs(),
        ]
        if self.options.deletions:
            administration.append(self.passing.run())
            clients += [asyncio.create_task(each) for each in self.passing.clients(lambda: self._is_over)]
        self._administration = [asyncio.create_task(each) for each in administration]
        await self._run_safety()
        if self.options.lasting_faults:
            await self._run_lasting()
        await self._heal()
        await self.finish(clients)

    async def set_up(self) -> None:
        """Everything runs, and knows the topic and the groups."""
        self._loop.set_exception_handler(self._unhandled)
        self._background.append(await watching(self.store))
        if self.options.readers:
            self._loop.after_each_turn(self.watermarks.look)
        self.hardware.keep_up()
        await self._create_topic_and_groups()
        self._background.append(asyncio.create_task(self._inspect()))

    async def finish_calmly(self) -> None:
        """The end of a script: whatever it left broken is healed; consumers come now."""
        self.hardware.kept_down.clear()
        await self._heal()
        await self.finish(self._consumers())

    async def finish(self, clients: list["asyncio.Task[None]"]) -> None:
        """Nothing goes wrong any more: everything has to come to an end, and is judged."""
        if self._do_all_run():
            await self._send_after_all()
            await self._rest_deciders()
            await self._converge()
        self._is_over = True
        self.around.stopping = self.passing.around.stopping = True
        await asyncio.gather(*clients)
        if self._is_converged:
            await self._verify()
        else:
            await self._look_all_the_same()
        for task in [*self._background, *self._administration]:
            task.cancel()
        self._judge()

    # --- setting up ---

    async def _create_topic_and_groups(self) -> None:
        options = self.options
        config = TopicConfig(
            segment_bytes=options.server.segment_bytes,
            dedup_window_ms=options.server.dedup_window_ms,
            min_insync_replicas=options.min_insync_replicas,
            max_replica_lag_ms=options.max_replica_lag_ms,
            encryption=Encryption.ON if options.is_encrypted else Encryption.OFF,
        )
        async with asyncio.timeout(SETUP_TIMEOUT_S):
            while len(self.store.nodes) < options.nodes or self.hardware.gateways[0].gateway is None:
                await asyncio.sleep(0.1)
            machine = self.hardware.gateways[0]
            assert machine.gateway is not None
            assert machine.process is not None
            gateway = machine.gateway.gateway
            await machine.process.call(
                gateway.topics.create(
                    QUEUE,
                    partitions=options.server.partitions,
                    config=config,
                    replication_factor=options.replication_factor,
                )
            )
            await machine.process.call(create_table(gateway.topics, options, config))
            await machine.process.call(create_trimmed(gateway.topics, options, config))
            await machine.process.call(create_view(gateway.topics, options, config))
            for name, (mode, settings) in starting_groups(options).items():
                group = await machine.process.call(gateway.groups.create(name, mode=mode, settings=settings))
                self.observer.group_names[group.id] = name
            if options.ordered(GroupMode.EXCLUSIVE) or options.committers:
                coordinators = gateway.topics.create(
                    GROUPS_TOPIC,
                    partitions=COORDINATORS,
                    config=groups_topic_config(options.min_insync_replicas),
                    replication_factor=options.replication_factor,
                )
                await machine.process.call(coordinators)
            while not self._everybody_knows():
                await asyncio.sleep(0.1)

    def _everybody_knows(self) -> bool:
        """What was created just now is news to the others for a moment."""
        views = [machine.gateway.metadata for machine in self.hardware.gateways if machine.gateway is not None]
        views += [machine.node.metadata for machine in self.hardware.nodes.values() if machine.node is not None]
        return all(
            view.topic(QUEUE) is not None and all(view.group(name) for name in self.observer.group_names.values())
            for view in views
        )

    def _consumers(self) -> list["asyncio.Task[None]"]:
        return (
            [
                asyncio.create_task(
                    Consumer(f"{group}-consumer-{number}", group, QUEUE, self.around).run(lambda: self._is_over)
                )
                for group in self.options.shared_groups
                for number in range(self.options.server.consumers)
            ]
            + [
                asyncio.create_task(seat.run(lambda: self._is_over))
                for group in self.options.ordered_groups
                for seat in seats_of(group, QUEUE, self.around)
            ]
            + [asyncio.create_task(decider.run(lambda: self._is_over)) for decider in self._deciders]
        )

    def _start_clients(self) -> list["asyncio.Task[None]"]:
        server = self.options.server
        self._producers = [
            asyncio.create_task(Producer(f"producer-{number}", QUEUE, self.around).run())
            for number in range(server.producers)
        ]
        readers = [
            LogReader(f"reader-{number}", self._topic, self.around, self.hardware, self.watermarks)
            for number in range(self.options.readers)
        ]
        watchers = [MemberWatcher(name, self.around) for name in self.options.ordered(GroupMode.EXCLUSIVE)]
        looking = [each.run(lambda: self._is_over) for each in (*watchers, *readers, self.observer)]
        if self.options.delayed:
            later = Scheduler("later", QUEUE, self.around).run(self.options.delayed, self.options.duration_ms / 1000)
            self._producers.append(asyncio.create_task(later))
        if self.options.table_messages:
            self._producers.append(asyncio.create_task(self.table.writer.run(self.options.table_messages)))
        return [*self._producers, *self._consumers(), *map(asyncio.create_task, looking)]

    def _topic(self) -> Topic:
        return next(topic for topic in self.store.topics.values() if topic.name == QUEUE)

    async def _inspect(self) -> None:
        while True:
            await asyncio.sleep(INSPECTION_INTERVAL_S)
            for machine in list(self.hardware.nodes.values()):
                await self._look_into(machine)

    async def _look_into(self, machine: NodeMachine) -> None:
        try:
            async with asyncio.timeout(1):
                await self.inspector.look(machine)
        except TimeoutError:
            self.coverage["inspection timeouts"] += 1

    # --- misfortunes ---

    async def _run_safety(self) -> None:
        """For its time, and until enough has gone wrong."""
        end_s = self._loop.time() + self.options.duration_ms / 1000
        inflicted = 0
        while self.options.faults:
            pause_s = self._random.expovariate(1 / self.options.fault_interval_ms) / 1000
            if self._loop.time() + pause_s >= end_s and inflicted >= FAULTS_MIN:
                break
            await asyncio.sleep(pause_s)
            inflicted += 1
            kind = self._random.choice(self.options.faults)
            self._note(kind.value)
            self.misfortune.inflict(kind)
        await asyncio.sleep(max(0.0, end_s - self._loop.time()))

    async def _run_lasting(self) -> None:
        """One thing after the other, each for longer than a cluster may need to get over it."""
        self.coordination.faults = NO_FAULTS
        judge = asyncio.create_task(self.availability.run())
        for kind in self.options.lasting_faults:
            await self.misfortune.undo_all()
            self._note(kind.value)
            await self.lasting.go_through(kind)
        judge.cancel()
        await asyncio.gather(judge, return_exceptions=True)

    async def _heal(self) -> None:
        """From here on nothing goes wrong any more; what was set to go wrong still may, once, within the pause."""
        await self.misfortune.undo_all()
        self.coordination.faults = NO_FAULTS
        for decider in self._deciders:
            decider.is_resting = True
        self.around.calm = self.passing.around.calm = True
        await asyncio.sleep(QUIET_S)
        await self._wait_until_all_run()
        self.hardware.must_stay_up = True
        self.around.stopping = self.passing.around.stopping = True
        self._note("healed")

    async def _wait_until_all_run(self) -> None:
        for _ in range(600):
            if self._do_all_run():
                return
            await asyncio.sleep(0.1)
        self.violations.append("not all nodes run, a minute after everything was healed")

    def _do_all_run(self) -> bool:
        machines = self.hardware.nodes.values()
        return all(machine.node is not None and machine.reason_to_end is None for machine in machines)

    # --- ending ---

    async def _send_after_all(self) -> None:
        """A healed cluster takes messages."""
        server = replace(
            self.options.server, acks=("all",), messages_max=CLOSING_MESSAGES, batch_max=1, disconnect_probability=0.0
        )
        around = replace(self.around, options=server, stopping=False)
        await Producer("closing", QUEUE, around).run()
        acknowledged = {sent.uid for sent in self.history.of(Sent) if sent.outcome is Outcome.OK}
        missing = [f"closing-{number + 1}" for number in range(CLOSING_MESSAGES)]
        if acknowledged.isdisjoint(missing):
            self.violations.append("no message was taken after everything was healed")

    async def _rest_deciders(self) -> None:
        """While something is blocked and nobody decides, the others come to their end."""
        deadline_s = self._loop.time() + CONVERGENCE_TIMEOUT_S
        before: list[tuple[int, int]] = []
        while self._deciders and self._loop.time() < deadline_s:
            began_ms = self.around.now_ms()
            await asyncio.sleep(STANDSTILL_S if before else 0)
            looks = [await decider.look() for decider in self._deciders]
            if not any(looks) and None not in looks:
                break
            reads = await self.observer.look(is_final=False)
            found = [(read.high_watermark, read.progress + read.done_above) for read in reads]
            is_all_sent = all(task.done() for task in [*self._producers, *self._administration])
            if found == before and None not in looks and is_all_sent:
                self.history.add(DecidersRested(began_ms=began_ms, ended_ms=self.around.now_ms()))
                self.coverage["deciders rested"] += 1
                break
            before = found
        for decider in self._deciders:
            decider.is_resting = False

    async def _converge(self) -> None:
        """All replicas of every partition in sync and whole, and every group at the end of every partition."""
        if self.hardware.rotten is not None:
            await self.inspector.read_everything(self.hardware.rotten)
        deadline_s = self._loop.time() + CONVERGENCE_TIMEOUT_S
        found: list[ProgressRead] = []
        while self._loop.time() < deadline_s:
            is_all_sent = all(task.done() for task in [*self._producers, *self._administration])
            # Before the look: what becomes due while it goes on is in no partition that it has seen.
            is_all_sent = is_all_sent and not is_anything_scheduled(self.hardware.nodes.values())
            found = await self.observer.look(is_final=False)
            is_complete = len(found) == self._partitions() * len(self._groups) + self._partitions(PASSING)
            is_done = all(read.progress == read.high_watermark for read in found)
            if is_all_sent and is_complete and is_done and not self._not_in_sync():
                self._is_converged = True
                self.history.add(AllDone(began_ms=self.around.now_ms(), ended_ms=self.around.now_ms()))
                break
            await asyncio.sleep(1)
        else:
            self.violations.append(
                f"no convergence within {CONVERGENCE_TIMEOUT_S} s: {self._not_in_sync()} {found} "
                f"{[producer.done() for producer in self._producers]} {sorted(self.topology.unfinished)}"
            )

    def _partitions(self, name: str = QUEUE) -> int:
        return sum(topic.partitions for topic in self.store.topics.values() if topic.name == name)

    def _not_in_sync(self) -> list[str]:
        return [
            f"{place}: leader {state.leader}, ISR {state.isr} of {state.replicas}, epoch {state.leader_epoch}"
            for place, state in self.store.partitions.items()
            if set(state.isr) != set(state.replicas) or state.is_moving or self.hardware.leader_of(state) is None
        ] + [*self._damaged(), *self._left_of_deleted_topics()]

    def _left_of_deleted_topics(self) -> list[str]:
        """R13: a tombstone is the word by which nodes remove their copies."""
        gone = {topic.id for topic, _ in self.store.topics_ever if topic.id not in self.store.topics}
        return [
            f"{machine.name} has {path} of a topic that was deleted"
            for machine in self.hardware.nodes.values()
            if gone
            for path in sorted(machine.disk.files())
            if any(topic_id in path for topic_id in gone)
        ]

    def _damaged(self) -> list[str]:
        """What recovery or a read found, and is not replaced yet."""
        return [
            f"{host.id} on {machine.name} is damaged"
            for machine in self.hardware.nodes.values()
            if machine.node is not None
            for host in replicas_of(machine.node)
            if host.is_damaged
        ]

    async def _look_all_the_same(self) -> None:
        """What is lost shows, also where it keeps a group from coming to its end."""
        try:
            await self.observer.look(is_final=True)
        except (ServerError, ProcessDiedError, NobodyLeadsError):
            self.coverage["last looks that failed"] += 1
        else:
            self._has_final_looks = True

    async def _verify(self) -> None:
        self._has_final_looks = True
        for machine in self.hardware.nodes.values():
            await self.inspector.look(machine)
            await self.table.look(machine)
        await self.observer.look(is_final=True)
        await self.hardware.rest()
        self.hardware.keep_up()
        for _ in range(600):
            await asyncio.sleep(0.1)
            if not self._not_in_sync() and await self._all_answer():
                break
        else:
            self.violations.append(f"the cluster does not serve after a restart: {self._not_in_sync()}")
            return
        for place in self.observer.places():
            await self.observer.read_progress(self.store.partitions[place], is_final=True)
        for machine in self.hardware.nodes.values():
            await self.inspector.look(machine)
            await self.table.look(machine)
        await self.hardware.rest()

    async def _all_answer(self) -> bool:
        try:
            for place in self.observer.places():
                await self.observer.read_progress(self.store.partitions[place], is_final=False)
        except (ServerError, ProcessDiedError, NobodyLeadsError):
            return False
        return True

    # --- judging ---

    def _judge(self) -> None:
        self._count()
        self._note_unseen_losses()
        self.violations += [*self.around.unexpected, *self.table.violations]
        for each in (self.store, self.inspector, self.watermarks, self.availability, self.side_topics):
            self.violations += each.violations
        self.violations += judge_passing(
            self.history.where(lambda event: is_passing(getattr(event, "queue", PASSING))),
            self.passing.lives(),
            self.options,
            has_final_looks=self._has_final_looks,
        )
        self.violations += check_all(
            self.history.where(lambda event: not is_passing(getattr(event, "queue", ""))),
            checkers_for(
                self.options,
                groups=self._groups,
                dead_letter_queues=self._dead_letter_queues,
                has_final_looks=self._has_final_looks,
            ),
        )

    def _note_unseen_losses(self) -> None:
        """An answer may hold what one node has acknowledged, and not say that another one's was lost."""
        for entry in self._logs:
            if entry["event"] == "auto_acked_messages_may_be_lost":
                lost = AutoAckedAnswerLost(
                    began_ms=entry["at_s"] * 1000,
                    ended_ms=entry["at_s"] * 1000,
                    group=self.observer.group_names[entry["group_id"]],
                    queue=QUEUE,
                    messages_max=entry["messages_max"],
                )
                self.history.add(lost)

    def _count(self) -> None:
        self.coverage["messages acknowledged"] = sum(sent.outcome is Outcome.OK for sent in self.history.of(Sent))
        seen = set()
        for sent in self.history.of(Sent):
            if sent.dedup_id is not None and sent.outcome is Outcome.OK:
                self.coverage["dedup hits"] += sent.dedup_id in seen
            if sent.dedup_id is not None and sent.outcome is not Outcome.FAILED:
                seen.add(sent.dedup_id)
        for (queue, _), records in final_log(self.history).items():
            self.coverage["messages in the log" if queue == QUEUE else "dead letters"] += len(records)

    def _note(self, kind: str) -> None:
        now_ms = self.around.now_ms()
        self.history.add(Faulted(began_ms=now_ms, ended_ms=now_ms, kind=kind))
        self._loop.note(kind)

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception that nobody took: of a dead process it means nothing, of a living one it is a bug."""
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, ProcessDiedError | ExecutorKilledError):
            self.violations.append(f"nobody handled {error!r}: {context['message']}")


def run_embedded_seed(seed: int) -> Result:
    """Run one seed to its end. What the servers log is kept, not printed, and counted by event."""
    return run_options(draw_embedded_options(seed))


def run_cluster_seed(seed: int) -> Result:
    """The same of a cluster."""
    return run_options(draw_cluster_options(seed))


def _stamp(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Says when, and whose it is."""
    process = current_process()
    moment = {"at_s": round(asyncio.get_running_loop().time(), 4), "process": process.name if process else "nobody"}
    return {**moment, **entry}


def run_options(options: Options) -> Result:
    worlds: list[World] = []

    async def main(loop: SimLoop) -> float:
        worlds.append(World(loop, options, logs))
        await worlds[0].run()
        return loop.time()

    trace_hash, virtual_s = "", 0.0
    for name in ("acklog", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with structlog.testing.capture_logs(processors=[_stamp]) as logs:
        try:
            virtual_s, trace_hash = simulate(options.seed, main, shuffle=options.server.shuffle)
        except Exception as error:
            worlds[0].violations.append(f"the run broke: {type(error).__name__}: {error}")
    world = worlds[0]
    for entry in logs:
        world.coverage[f"log: {entry['event']}"] += 1
    return Result(options, world.violations, world.coverage, trace_hash, world.history, virtual_s, list(logs))
