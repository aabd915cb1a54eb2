"""The network between simulated machines: `storage.rpc.transport.NodeTransport` on virtual time, and its misfortunes.

A connection is a TCP connection: within it nothing is lost, doubled or overtaken. What may happen is that it is slow,
that one direction stands still for a while, and that it breaks, at both ends or at one, before or after what was
written has arrived. A killed process says goodbye, a machine without power does not. A process that stands still
accepts and takes in bytes nevertheless, as its kernel does; it just does not see them.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from enum import Enum

from storage.rpc.framing import Buffer
from storage.rpc.transport import Listener, StreamHandler
from tests.sim.cluster.links import Link, Links
from tests.sim.loop import SimLoop
from tests.sim.process import Process

WINDOW_BYTES = 256 * 1024


class _Kind(Enum):
    DIAL = "dial"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    DATA = "data"
    END = "end"
    RESET = "reset"


class Network:
    """`cut_probability`: how often written bytes arrive in several pieces."""

    def __init__(
        self, loop: SimLoop, links: Links, rng: random.Random, coverage: Counter[str], *, cut_probability: float = 0.0
    ) -> None:
        self.links = links
        self.coverage = coverage
        self._loop = loop
        self._random = rng
        self._cut_probability = cut_probability
        self._context = copy_context()  # what travels belongs to no process
        self._listeners: dict[str, tuple[Process, Callable[[], StreamHandler]]] = {}
        self._connections: dict[Connection, None] = {}
        self._without_power: set[str] = set()

    def transport(self, host: str, process: Process) -> "SimTransport":
        """The network as a process on `host` has it."""
        return SimTransport(self, host, process)

    # --- what happens to processes and machines ---

    def process_ended(self, process: Process) -> None:
        """Its kernel closes what it had open; what it had written still travels."""
        for address, (listening, _) in list(self._listeners.items()):
            if listening is process:
                del self._listeners[address]
        for connection in list(self._connections):
            connection.process_ended(process)

    def power_lost(self, host: str, process: Process) -> None:
        """Nobody hears of it. Who writes to the machine after it has come back is told."""
        self._without_power.add(host)
        for address, (listening, _) in list(self._listeners.items()):
            if listening is process:
                del self._listeners[address]
        for connection in list(self._connections):
            connection.power_lost(process)

    def power_returned(self, host: str) -> None:
        self._without_power.discard(host)
        for connection in list(self._connections):
            connection.power_returned(host)

    # --- misfortunes ---

    def reset(self, one: str, other: str, *, both_ends: bool = True) -> None:
        """Break every connection between two hosts; with `both_ends` False the other end hears when it writes."""
        for connection in list(self._connections):
            if {end.host for end in connection.ends} == {one, other}:
                self.coverage["resets"] += 1
                connection.break_off(both_ends=both_ends, rng=self._random)

    # --- for connections ---

    def later(self, delay_s: float, function: Callable[[], None]) -> None:
        self._loop.call_later(delay_s, function, context=self._context)

    def pieces(self, data: bytes) -> list[bytes]:
        if len(data) < 2 or self._random.random() >= self._cut_probability:
            return [data]
        cut = self._random.randint(1, len(data) - 1)
        return [data[:cut], data[cut:]]

    def has_power(self, host: str) -> bool:
        return host not in self._without_power

    def listener(self, address: str) -> tuple[Process, Callable[[], StreamHandler]] | None:
        return self._listeners.get(address)

    def listen(self, address: str, process: Process, accept: Callable[[], StreamHandler]) -> None:
        if address in self._listeners:
            raise OSError(f"{address} is in use")
        self._listeners[address] = (process, accept)

    def stop_listening(self, address: str, process: Process) -> None:
        if address in self._listeners and self._listeners[address][0] is process:
            del self._listeners[address]

    def add(self, connection: "Connection") -> None:
        self._connections[connection] = None

    def forget(self, connection: "Connection") -> None:
        self._connections.pop(connection, None)

    def now_s(self) -> float:
        return self._loop.time()


class SimTransport:
    """`storage.rpc.transport.NodeTransport` of one process. An address is `host:port`; nobody picks ports by chance."""

    def __init__(self, network: Network, host: str, process: Process) -> None:
        self._network = network
        self._host = host
        self._process = process

    async def dial(self, address: str, handler: StreamHandler) -> None:
        connection = Connection(self._network, self._host, self._process, address, handler)
        try:
            await connection.dial()
        except asyncio.CancelledError:
            connection.ends[0].abort()
            raise

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        self._network.listen(address, self._process, accept)
        return _SimListener(self._network, self._process, address)


class _SimListener:
    def __init__(self, network: Network, process: Process, address: str) -> None:
        self._network = network
        self._process = process
        self.address = address

    async def close(self) -> None:
        self._network.stop_listening(self.address, self._process)


class Connection:
    """Two ends, and a way for each direction."""

    def __init__(self, network: Network, host: str, process: Process, address: str, handler: StreamHandler) -> None:
        self._network = network
        self._address = address
        self._dialled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        target = address.rpartition(":")[0]
        near = SimStream(self, host, peer=address)
        far = SimStream(self, target, peer=host)
        near.process, near.handler = process, handler
        self.ends = (near, far)
        near.way = _Way(network, network.links.link(host, target), far)
        far.way = _Way(network, network.links.link(target, host), near)
        network.add(self)

    async def dial(self) -> None:
        self._network.coverage["dials"] += 1
        self.ends[0].way.send(_Kind.DIAL)
        await self._dialled

    # --- arrivals ---

    def dial_arrived(self) -> None:
        far = self.ends[1]
        if not self._network.has_power(far.host):
            return  # nobody answers; the dialler loses patience
        found = self._network.listener(self._address)
        if found is None:
            far.way.send(_Kind.REFUSED)
            return
        far.process = found[0]
        far.way.send(_Kind.ACCEPTED)
        found[0].post(far.accept, found[1])

    def accepted(self) -> None:
        near = self.ends[0]
        if near.process is not None and not near.is_ended:
            near.process.post(near.begin)
            near.process.post(_settle, self._dialled, None)

    def refused(self) -> None:
        near = self.ends[0]
        near.is_ended = True
        self.dial_failed(ConnectionRefusedError(self._address))
        self._network.forget(self)

    def dial_failed(self, error: Exception | None) -> None:
        near = self.ends[0]
        if near.process is not None:
            near.process.post(_settle, self._dialled, error or ConnectionResetError(self._address))

    # --- ends ---

    def end_heard(self) -> None:
        if all(end.is_ended or end.process is None for end in self.ends):
            self._network.forget(self)

    def process_ended(self, process: Process) -> None:
        for end in self.ends:
            if end.process is process and not end.is_ended:
                end.is_ended = True
                end.way.send(_Kind.RESET if end.has_unread else _Kind.END)
        self.end_heard()

    def power_lost(self, process: Process) -> None:
        for end in self.ends:
            if end.process is process:
                end.is_ended = True
                end.is_silent = True
                end.way.drop()
        self.end_heard()

    def power_returned(self, host: str) -> None:
        for end in self.ends:
            if end.host == host and end.is_silent:
                end.is_silent = False  # from now on it answers with resets

    def break_off(self, *, both_ends: bool, rng: random.Random) -> None:
        """A broken connection: what is on its way may still arrive, or not."""
        told = list(self.ends) if both_ends else [rng.choice(self.ends)]
        for end in self.ends:
            if rng.random() < 0.5:
                end.way.drop()
            end.way.is_broken = True
        for end in told:
            self._network.later(rng.uniform(0, 0.005), end.reset)


class SimStream:
    """One end: `storage.rpc.transport.Stream`."""

    way: "_Way"
    handler: StreamHandler

    def __init__(self, connection: Connection, host: str, *, peer: str) -> None:
        self.host = host
        self.process: Process | None = None
        self.is_ended = False
        self.is_silent = False
        self.is_writing_paused = False
        self._connection = connection
        self._peer = peer
        self._incoming: deque[bytes] = deque()
        self._is_reading_paused = False
        self._has_begun = False

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def identity(self) -> None:
        return None

    @property
    def has_unread(self) -> bool:
        return bool(self._incoming)

    # --- the port, within the process ---

    def write(self, buffers: Sequence[Buffer]) -> None:
        if not self.is_ended:
            self.way.send_data(b"".join(buffers))
            self.pace()

    def pause_reading(self) -> None:
        self._is_reading_paused = True

    def resume_reading(self) -> None:
        self._is_reading_paused = False
        if self.process is not None:
            self.process.post(self._read)

    def close(self) -> None:
        if not self.is_ended:
            self.way.send(_Kind.END)
            self._end(None)

    def abort(self) -> None:
        if not self.is_ended:
            self.way.send(_Kind.RESET)
            self._end(None)

    def begin(self) -> None:
        self._has_begun = True
        self.handler.stream_began(self)

    def accept(self, accept: Callable[[], StreamHandler]) -> None:
        if not self.is_ended:
            self.handler = accept()
            self.begin()

    # --- arrivals, outside of the process ---

    def data_arrived(self, data: bytes) -> None:
        if self.is_silent:
            return
        if self.is_ended or self.process is None or self.process.is_dead:
            self.way.send(_Kind.RESET)
            return
        self._incoming.append(data)
        self.process.post(self._read)

    def end_arrived(self, error: Exception | None) -> None:
        if not self.is_ended and self.process is not None:
            self.process.post(self._hear_end, error)

    def reset(self) -> None:
        self.end_arrived(ConnectionResetError("the connection broke"))

    def _hear_end(self, error: Exception | None) -> None:
        if error is None and self._incoming:  # a pause of reading delays the end as well
            self._incoming.append(b"")
        elif not self.is_ended:
            self.way.send(_Kind.END)
            self._end(error)

    # --- pieces ---

    def _read(self) -> None:
        while self._incoming and not self._is_reading_paused and not self.is_ended:
            data = self._incoming.popleft()
            if not data:
                self.way.send(_Kind.END)
                self._end(None)
                return
            self.other.way.taken(len(data))
            self.handler.bytes_received(data)

    @property
    def other(self) -> "SimStream":
        one, other = self._connection.ends
        return other if one is self else one

    def pace(self) -> None:
        """Tell the handler whether the peer keeps up."""
        is_full = self.way.unread_bytes > WINDOW_BYTES
        if is_full and not self.is_writing_paused:
            self.is_writing_paused = True
            self.handler.writing_paused()
        elif self.is_writing_paused and self.way.unread_bytes <= WINDOW_BYTES // 2:
            self.is_writing_paused = False
            self.handler.writing_resumed()

    def room_made(self) -> None:
        if self.is_writing_paused and not self.is_ended and self.process is not None:
            self.process.post(self._pace_if_open)

    def _pace_if_open(self) -> None:
        if not self.is_ended:
            self.pace()

    def _end(self, error: Exception | None) -> None:
        self.is_ended = True
        self._incoming.clear()
        self._connection.end_heard()
        if not self._has_begun:
            self._connection.dial_failed(error)
        elif self.process is not None:
            self.process.post(self.handler.stream_ended, error)


class _Way:
    """One direction of a connection: what was sent arrives in order, each thing not before its time."""

    def __init__(self, network: Network, link: Link, target: SimStream) -> None:
        self.unread_bytes = 0
        self.is_broken = False
        self._network = network
        self._link = link
        self._target = target
        self._items: deque[tuple[float, _Kind, bytes]] = deque()
        self._last_ready_s = 0.0
        self._is_waiting = False

    def send(self, kind: _Kind, data: bytes = b"") -> None:
        if self.is_broken:
            if kind is _Kind.DATA:  # nobody knows this connection any more
                self._network.later(2 * self._network.links.delay_s(self._link), self._target.other.reset)
            return
        ready_s = self._network.now_s() + self._network.links.delay_s(self._link)
        self._last_ready_s = max(self._last_ready_s, ready_s)
        self._items.append((self._last_ready_s, kind, data))
        self._arm()

    def send_data(self, data: bytes) -> None:
        if not data:
            return
        self.unread_bytes += len(data)
        for piece in self._network.pieces(data):
            self.send(_Kind.DATA, piece)

    def drop(self) -> None:
        """What is on its way never arrives."""
        self._items.clear()

    def taken(self, size_bytes: int) -> None:
        self.unread_bytes -= size_bytes
        self._target.other.room_made()

    def _arm(self) -> None:
        if self._is_waiting or not self._items:
            return
        self._is_waiting = True
        if self._link.is_blocked:
            self._link.on_open(self._wake)
        else:
            self._network.later(max(0.0, self._items[0][0] - self._network.now_s()), self._wake)

    def _wake(self) -> None:
        self._is_waiting = False
        now_s = self._network.now_s()
        while self._items and self._items[0][0] <= now_s + 1e-9 and not self._link.is_blocked:
            _, kind, data = self._items.popleft()
            self._arrive(kind, data)
        self._arm()

    def _arrive(self, kind: _Kind, data: bytes) -> None:
        target = self._target
        connection = target._connection
        match kind:
            case _Kind.DIAL:
                connection.dial_arrived()
            case _Kind.ACCEPTED:
                connection.accepted()
            case _Kind.REFUSED:
                connection.refused()
            case _Kind.DATA:
                target.data_arrived(data)
            case _Kind.END:
                target.end_arrived(None)
            case _Kind.RESET:
                target.reset()


def _settle(dialled: "asyncio.Future[None]", error: Exception | None) -> None:
    if dialled.done():
        return
    if error is None:
        dialled.set_result(None)
    else:
        dialled.set_exception(error)
