"""Scenario files: commands, and under them what has to come of them.

    # What this is about, and why it matters.
    # Finds: planted_bug, another_one

    replicas 1 2 3 min-insync=2
    elect 1
    append 1 a b
    ----
    1  leads in epoch 1
    ...

A block is commands, a line `----`, and their output up to an empty line. `Finds:` names bugs of
`tests/property/replication/mutants.py` with which the file must read otherwise.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from storage.log.log_table import LogKind
from storage.replication.acks import ACKS_ALL
from tests.scenarios.replication.stage import Stage

SEPARATOR = "----"
_EPOCH = re.compile(r"(\d+)\[([^\]]*)\]")
_LOGS = {"messages": LogKind.MESSAGES, "delivery": LogKind.DELIVERY}


@dataclass
class Block:
    """`head` are comments and empty lines before the commands."""

    head: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        lines = [*self.head, *self.commands]
        if self.commands:
            lines += [SEPARATOR, *self.output, ""]
        return "\n".join(lines)


def parse(text: str) -> list[Block]:
    """The last block has no commands where something is behind the last output."""
    blocks = [Block()]
    is_output = False
    for line in text.splitlines():
        if is_output and line:
            blocks[-1].output.append(line)
        elif is_output:
            blocks.append(Block())
            is_output = False
        elif line == SEPARATOR:
            is_output = True
        elif not line or line.startswith("#"):
            blocks[-1].head.append(line)
        else:
            blocks[-1].commands.append(line)
    return blocks


def bugs_found_by(text: str) -> list[str]:
    return [name for line in re.findall(r"^# Finds: (.*)$", text, re.MULTILINE) for name in line.split(", ")]


def replay(text: str) -> str:
    """The file as it reads when it is played now. Raises AssertionError where a rule is broken."""
    blocks = parse(text)
    player = _Player()
    for block in blocks:
        block.output = player.play(block.commands)
    return "\n".join(block.text for block in blocks if block.head or block.commands).rstrip("\n") + "\n"


class _Player:
    stage: Stage

    def play(self, commands: list[str]) -> list[str]:
        lines: list[str] = []
        for command in commands:
            name, *words = command.split()
            options = dict(word.split("=", 1) for word in words if "=" in word)
            plain = [word for word in words if "=" not in word]
            if name == "replicas":
                self._begin(plain, options)
                continue
            done = _COMMANDS.get(name)
            assert done is not None, f"there is no command {name!r}"
            try:
                done(self.stage, plain, options)
                self.stage.check()
            except AssertionError as error:
                raise AssertionError("\n".join([*lines, *self.stage.lines, f"{command}: {error}"])) from error
            lines += self.stage.lines
            self.stage.lines = []
        return lines or ["nothing"]

    def _begin(self, words: list[str], options: dict[str, str]) -> None:
        """`replicas 1 2 3 isr=1,2 min-insync=2 epoch=1`: nobody leads, and the last epoch was 1."""
        nodes = _numbers(words)
        isr = _numbers(options["isr"].split(",")) if "isr" in options else nodes
        self.stage = Stage(nodes, isr, int(options.get("min-insync", "1")), int(options.get("epoch", "0")))


def _numbers(words: list[str]) -> list[int]:
    return [int(word) for word in words]


def _listed(options: dict[str, str], name: str) -> list[int] | None:
    return _numbers(options[name].split(",")) if name in options else None


def _log(options: dict[str, str]) -> int:
    return _LOGS[options.get("log", "messages")]


def _write_log(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`log 1 1[a b] 2[c] hw=2`"""
    node, *rest = words
    epochs = [(int(epoch), names.split()) for epoch, names in _EPOCH.findall(" ".join(rest))]
    stage.write_log(int(node), epochs, high_watermark=int(options.get("hw", "0")), log=_log(options))


def _elect(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`elect 1 isr=1,2 hidden-from=3`"""
    stage.elect(int(words[0]), isr=_listed(options, "isr"), hidden_from=_listed(options, "hidden-from"))


def _elect_unclean(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`elect-unclean 3`: who is not in sync."""
    stage.elect(int(words[0]), hidden_from=_listed(options, "hidden-from"), is_unclean=True)


def _append(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`append 1 a b acks=2 log=delivery`: one batch; acks are all by default."""
    acks = ACKS_ALL if options.get("acks", "all") == "all" else int(options["acks"])
    stage.append(int(words[0]), words[1:], acks=acks, log=_log(options))


def _pass(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`pass 500ms`"""
    stage.pass_time(int(words[0].removesuffix("ms")))


def _disk(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`disk 2 slow`: what is written waits; `disk 2 done`: now it is durable, and does not wait any more."""
    node = stage.nodes[int(words[0])]
    node.is_disk_slow = words[1] == "slow"
    if not node.is_disk_slow:
        node.finish_disk_work()


def _store(stage: Stage, words: list[str], options: dict[str, str]) -> None:
    """`store 1 [unknown | unreached]`: what node 1 wants of the coordination store."""
    stage.grant(int(words[0]), outcome=" ".join(words[1:]))


def _network(act: Callable[[Stage, str], object]) -> "_Command":
    return lambda stage, words, options: act(stage, words[0])


def _nodes(act: Callable[[Stage, list[int]], object]) -> "_Command":
    return lambda stage, words, options: act(stage, _numbers(words))


_Command = Callable[[Stage, list[str], dict[str, str]], object]

_COMMANDS: dict[str, _Command] = {
    "log": _write_log,
    "elect": _elect,
    "elect-unclean": _elect_unclean,
    "append": _append,
    "pass": _pass,
    "disk": _disk,
    "store": _store,
    "store-late": lambda stage, words, options: stage.arrive_late(),
    "start": _nodes(Stage.start),
    "crash": _nodes(Stage.stop),
    "lose-power": _nodes(lambda stage, nodes: stage.stop(nodes, is_power_loss=True)),
    "wipe": lambda stage, words, options: stage.wipe(int(words[0])),
    "checkpoint": lambda stage, words, options: stage.checkpoint(int(words[0]), _log(options), int(words[1])),
    "take-out": _nodes(Stage.take_out),
    "see": _nodes(Stage.see),
    "fetch": _nodes(Stage.fetch),
    "send": lambda stage, words, options: stage.send(int(words[0]), options["as"]),
    "arrive": _network(Stage.arrive),
    "deliver": _network(Stage.deliver),
    "settle": lambda stage, words, options: stage.settle(),
    "show": lambda stage, words, options: stage.show(),
    "trim": lambda stage, words, options: stage.trim(int(words[0]), int(words[1])),
    "silent": _nodes(Stage.set_silent),
    "lose-store": _nodes(lambda stage, nodes: stage.set_coordinated(nodes, is_reachable=False)),
    "find-store": _nodes(lambda stage, nodes: stage.set_coordinated(nodes, is_reachable=True)),
    "min-insync": lambda stage, words, options: stage.set_minimum(int(words[0])),
    "damage": lambda stage, words, options: stage.damage(int(words[0]), _log(options)),
}
