"""A plain model of one exclusive group in one partition: what is done, what is out, and whose it all is."""

from dataclasses import dataclass, field


@dataclass
class Out:
    """A lease. `run` tells those of one receive from others."""

    run: int
    attempt: int
    deadline_ms: int


@dataclass
class Message:
    """`is_given_up`: its attempts are used up, and it goes to the dead-letter topic or waits for a person."""

    is_done: bool = False
    is_given_up: bool = False
    attempts: int = 0
    due_ms: int = 0
    was_first_delivered: bool = False


@dataclass
class ExclusiveOracle:
    messages: list[Message] = field(default_factory=list)
    out: dict[int, Out] = field(default_factory=dict)
    generation: int = 0
    owner: int = 0
    seen: int = 0
    fates: dict[int, str] = field(default_factory=dict)
    is_over: bool = False
    runs: int = 0
    confirmed_runs: set[int] = field(default_factory=set)

    @property
    def end(self) -> int:
        return len(self.messages)

    @property
    def progress(self) -> int:
        return next((offset for offset, each in enumerate(self.messages) if not each.is_done), self.end)

    def next_run(self, *, room: int, pending: set[int], now_ms: int) -> list[int]:
        """What the owner gets: the first messages that are neither done nor out, up to one that has to wait."""
        if any(lease.run not in self.confirmed_runs for lease in self.out.values()):
            return []
        run: list[int] = []
        for offset, message in enumerate(self.messages):
            if message.is_done or offset in self.out:
                continue
            if message.is_given_up or message.due_ms > now_ms or offset in pending or len(run) >= room:
                break
            run.append(offset)
        return run

    def is_gone(self, ownership: int) -> bool:
        """Everybody is, from the owner of now on, that the coordinator knew of when it gave the partition to this
        one."""
        return all(self.fates[each] != "lives" for each in range(max(self.owner, 1), ownership))

    def has_left(self, ownership: int) -> bool:
        return all(self.fates[each] == "left" for each in range(max(self.owner, 1), ownership))

    def give(self, run: list[int], attempts: list[int], deadline_ms: int) -> None:
        """`attempts` as the receipts have them."""
        self.runs += 1
        for offset, attempt in zip(run, attempts, strict=True):
            self.out[offset] = Out(self.runs, attempt, deadline_ms)

    def confirm(self, offset: int) -> None:
        if offset in self.out:
            self.confirmed_runs.add(self.out[offset].run)

    # --- what durable records do -----------------------------------------------------------------------------------

    def rewind(self, offset: int) -> None:
        self.out = {each: lease for each, lease in self.out.items() if each < offset}

    def done(self, offsets: list[int], generation: int) -> None:
        if generation == self.generation:
            for offset in offsets:
                self.messages[offset].is_done = True
                self.out.pop(offset, None)

    def give_back(self, attempts: dict[int, int], due_ms: dict[int, int | None], generation: int) -> None:
        """`due_ms` None: the attempts are used up."""
        if generation != self.generation:
            return
        returned = []
        for offset, count in attempts.items():
            message = self.messages[offset]
            if not message.is_done:
                message.attempts, due = count, due_ms[offset]
                message.is_given_up, message.due_ms = due is None, due or 0
                returned.append(offset)
        if returned:
            self.rewind(min(returned))

    def let_go(self, offset: int, generation: int) -> None:
        """It begins anew."""
        self.give_back({offset: 0}, {offset: 0}, generation)

    def claim(self, ownership: int, generation: int) -> None:
        if generation > self.generation:
            self.owner, self.generation = ownership, generation
            self.seen = max(self.seen, ownership)
            self.is_over = False
            self.out = {}

    def seek(self, target: int, generation: int) -> None:
        if generation > self.generation:
            self.generation, self.out = generation, {}
            self.messages = [Message(is_done=offset < target) for offset in range(self.end)]

    def restart(self, now_ms: int) -> None:
        self.out = {}
        self.seen = self.owner
        self.is_over = False
