"""JSON bodies of the calls that manage: topics, groups, schedules, quotas, tokens, members, moves."""

from collections.abc import Callable

from app.calls.groups import GroupFields
from app.calls.topics import TopicFields
from app.http.parsing.blocked import parse_blocked
from app.http.parsing.cluster import (
    parse_decommission,
    parse_move,
    parse_plan,
    parse_unclean_election,
    parse_unclean_plan,
)
from app.http.parsing.compactions import parse_compact
from app.http.parsing.copies import parse_begin, parse_finish, parse_restore_groups
from app.http.parsing.deletions import parse_delete_before, parse_purge
from app.http.parsing.groups import parse_copy, parse_group, parse_pause, parse_positions
from app.http.parsing.members import parse_heartbeat, parse_join
from app.http.parsing.namespaces import parse_namespace
from app.http.parsing.producers import parse_open
from app.http.parsing.recurring import parse_recurring
from app.http.parsing.redrives import parse_redrive
from app.http.parsing.scheduled import parse_move_in_time
from app.http.parsing.tokens import parse_rotate, parse_token
from app.http.parsing.topics import parse_topic
from cluster.errors import ServerError
from cluster.model.codec import decode, encode
from cluster.model.values import GroupSettings, TopicConfig
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_MESSAGE = b"m-0000000000001-0-3-17"


def _topic(body: bytes) -> TopicFields:
    """What is taken has to be what the coordination store can hold."""
    fields = parse_topic(body)
    if fields.config is not None:
        config = fields.config.applied_to(TopicConfig(), defaults=TopicConfig())
        assert decode(TopicConfig, encode(config)) == config
    return fields


def _group(body: bytes) -> GroupFields:
    fields = parse_group(body)
    if fields.settings is not None:
        settings = fields.settings.applied_to(GroupSettings())
        assert decode(GroupSettings, encode(settings)) == settings
    return fields


_PARSERS: dict[bytes, Callable[[bytes], object]] = {
    b"blocked": parse_blocked,
    b"compact": parse_compact,
    b"copy": parse_copy,
    b"decommission": parse_decommission,
    b"delete-before": parse_delete_before,
    b"begin-restore": parse_begin,
    b"finish-restore": parse_finish,
    b"group": _group,
    b"heartbeat": parse_heartbeat,
    b"join": parse_join,
    b"move": parse_move,
    b"namespace": parse_namespace,
    b"move-in-time": parse_move_in_time,
    b"pause": parse_pause,
    b"plan": parse_plan,
    b"positions": parse_positions,
    b"producer": parse_open,
    b"purge": parse_purge,
    b"recurring": parse_recurring,
    b"redrive": parse_redrive,
    b"restore-groups": parse_restore_groups,
    b"rotate": parse_rotate,
    b"token": parse_token,
    b"topic": _topic,
    b"unclean-election": parse_unclean_election,
    b"unclean-plan": parse_unclean_plan,
}
_SEEDS = (
    joined(b"topic", b'{"partitions":3,"replicationFactor":1,"config":{"retentionMs":1000,"cleanup":"compact"}}'),
    joined(b"topic", b'{"config":{"maxCompactionLagMs":1,"minCompactionLagMs":2,"sendBytesPerSecond":null}}'),
    joined(b"group", b'{"mode":"shared","settings":{"filter":"key = \\"k\\"","maxAttempts":3,"retryBackoffMinMs":5}}'),
    joined(b"group", b'{"mode":"keyOrdered","settings":{"deadLetterTopic":"letters","fairBy":"header.customer"}}'),
    joined(b"positions", b'{"topic":"t","partition":1,"to":{"offset":3},"dryRun":true}'),
    joined(b"positions", b'{"topic":"t","to":{"messageId":"%b"}}' % _MESSAGE),
    joined(b"positions", b'{"topic":"t","offsets":[{"partition":0,"offset":1,"metadata":"\\u00e9"}]}'),
    joined(b"positions", b'{"topic":"t","to":"earliest"}'),
    joined(b"recurring", b'{"cron":"0 8 * * *","timeZone":"Europe/Berlin","message":{"body":1,"key":"k"}}'),
    joined(b"recurring", b'{"everySeconds":1.5,"startAt":"2027-03-01T08:30:00Z","missed":"all","paused":true}'),
    joined(b"token", b'{"name":"shop","roles":["producer"],"topics":["orders.*"],"requestsPerSecond":5}'),
    joined(
        b"token", b'{"name":"x","rights":[{"allow":["send","look"],"topics":["a"]},{"deny":["send"],"cluster":true}]}'
    ),
    joined(b"rotate", b'{"graceSeconds":0,"discard":"oldest"}'),
    joined(b"blocked", b'{"topic":"t","partition":0,"offset":3}'),
    joined(b"blocked", b'{"topic":"t","key":"k"}'),
    joined(b"redrive", b'{"topic":"t","to":"u","filter":"exists(key)","ratePerSecond":5}'),
    joined(b"redrive", b'{"topic":"t","messageIds":["%b"]}' % _MESSAGE),
    joined(b"delete-before", b'{"offsets":[{"partition":0,"offset":5}],"dryRun":true}'),
    joined(b"delete-before", b'{"time":1700000000000}'),
    joined(b"purge", b'{"partitions":[0,1]}'),
    joined(b"move", b'{"replicas":[1,2,3]}'),
    joined(b"namespace", b'{"topicsMax":3,"partitionsMax":10,"groupsMax":2,"messagesPerSecond":5}'),
    joined(b"move-in-time", b'{"delaySeconds":0.5}'),
    joined(b"pause", b'{"topic":"t","partitions":[0,0,1]}'),
    joined(b"copy", b'{"from":"mail","topics":["t"],"dryRun":true}'),
    joined(b"join", b'{"topics":["t"],"patterns":["t.*"],"sessionTimeoutSeconds":10}'),
    joined(b"heartbeat", b'{"memberEpoch":3}'),
    joined(b"plan", b'{"moves":[{"topic":"t","partition":0,"replicas":[1]}]}'),
    joined(b"decommission", b'{"partitions":[3]}'),
    joined(b"producer", b""),
    joined(b"compact", b'{"partitions":[0]}'),
    joined(b"unclean-plan", b""),
    joined(b"unclean-election", b'{"node":1,"acceptedLoss":1}'),
)


class NoCallError(ValueError):
    """The first part names none of the calls."""


def _read(data: bytes) -> None:
    name, body = parts_of(data, 2)
    if name not in _PARSERS:
        raise NoCallError
    _PARSERS[name](body)


TARGET = FuzzTarget(_read, (ServerError, NoCallError), lambda: _SEEDS)
