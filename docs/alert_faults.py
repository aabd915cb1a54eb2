"""By which fault each alert has been seen firing, and by which test: the table of docs/runbooks/README.md."""

from dataclasses import dataclass

FOLDER = "tests/integration/alerts"


@dataclass(frozen=True, slots=True)
class Seen:
    """`fault` is made by `test`, a function in FOLDER; `end` is what made the alert stop."""

    fault: str
    end: str
    test: str


NOT_SEEN = ""
"""On real processes."""

_CONSUMERS = "test_what_producers_and_consumers_do"
_FULL = "test_a_full_disk"
_SLOW = "test_a_slow_disk"
_FAILED = "test_a_damaged_journal"
_DAMAGE = "test_damaged_files"
_USED = "test_a_server_that_is_used_up"
_LATE = "test_a_server_that_stood_still"
_CERTIFICATES = "test_a_certificate_that_ends_and_one_that_cannot_be_used"
_DEATHS = "test_nodes_that_die"
_ETCD = "test_an_etcd_that_is_slow"
_NO_ETCD = "test_an_etcd_that_is_gone"
_UNCLEAN = "test_an_unclean_election"
_NODE_DISK = "test_a_node_with_a_full_disk"
_ISSUER = "test_an_issuer_that_is_away"
_AUDIT = "test_an_audit_log_that_takes_nothing"

FAULTS = {
    "AcklogStorageFailed": Seen("a bit flipped in the journal, found at the start", "the journal of before", _FAILED),
    "AcklogPartitionsRefused": Seen("bits flipped in a delivery log, found at the start", "the topic deleted", _DAMAGE),
    "AcklogPartitionsWithoutLeader": Seen("`kill -9` of two nodes of three; topics of one replica", "a start", _DEATHS),
    "AcklogPartitionsBelowMinimum": Seen("`kill -9` of two nodes of three", "a start", _DEATHS),
    "AcklogPartitionsUnderReplicated": Seen("`kill -9` of two nodes of three", "a start, and in sync", _DEATHS),
    "AcklogNoController": Seen("all of etcd stands still (SIGSTOP) for longer than leases", "it goes on", _NO_ETCD),
    "AcklogNodeMissing": Seen("`kill -9` of two nodes of three", "a start", _DEATHS),
    "AcklogUncleanElection": Seen(
        "a replica that had missed messages elected by an operator, after `kill -9` of who had them", "time", _UNCLEAN
    ),
    "AcklogServerErrors": Seen("the disk full (a file system on a loop device), and sends", "space freed", _FULL),
    "AcklogDiskAlmostFull": Seen("the disk full (a file system on a loop device)", "space freed", _FULL),
    "AcklogDiskImpaired": Seen("the disk of one node full (a file system on a loop device)", "space freed", _NODE_DISK),
    "AcklogSyncsSlow": Seen("each sync takes 0.4 s longer (a preloaded library)", "syncs as before", _SLOW),
    "AcklogDamageFound": Seen("a bit flipped in a segment, found by the scrub", "the topic deleted", _DAMAGE),
    "AcklogReplicaStandsStill": Seen(
        "nothing that can be done to a cluster: a volume of before is refused at the start. By promtool alone",
        "",
        NOT_SEEN,
    ),
    "AcklogCompactionFails": Seen("a bit flipped in a segment that is compacted", "the topic deleted", _DAMAGE),
    "AcklogSendsSlow": Seen("each sync takes 0.4 s longer (a preloaded library)", "syncs as before", _SLOW),
    "AcklogSendsRefused": Seen("the disk full (a file system on a loop device), and sends", "space freed", _FULL),
    "AcklogQuotaExceeded": Seen("a producer sends ten times its topic's quota", "it stops", _CONSUMERS),
    "AcklogEventLoopLate": Seen("the server stands still for half of its time (SIGSTOP, SIGCONT)", "it runs", _USED),
    "AcklogEtcdSlow": Seen("all of etcd stands still for 0.8 s of each second (SIGSTOP, SIGCONT)", "it runs", _ETCD),
    "AcklogDescriptorsAlmostUsed": Seen("idle connections to a server with few descriptors", "they close", _USED),
    "AcklogLimitAlmostReached": Seen("nine receives wait where ten may", "they have their answers", _USED),
    "AcklogGroupBehind": Seen(
        "a message sent a thousand seconds ago by the server's clock of then, and not acked", "an ack", _CONSUMERS
    ),
    "AcklogNobodyReceives": Seen("messages, and no receive", "a receive and an ack", _CONSUMERS),
    "AcklogGroupBlocked": Seen("a nack in a group that blocks", "the message skipped", _CONSUMERS),
    "AcklogDeadLetters": Seen("nacks until the attempts are used up", "time", _CONSUMERS),
    "AcklogLostToRetention": Seen("more messages than a topic may keep, and no receive", "time", _CONSUMERS),
    "AcklogScheduledLate": Seen("the server stands still (SIGSTOP) when messages are due", "it goes on", _LATE),
    "AcklogRedriveFails": Seen("letters without keys sent back to a compacted topic", "time", _CONSUMERS),
    "AcklogCertificateEnds": Seen("a certificate with 10 days left", "a new one in its place", _CERTIFICATES),
    "AcklogCertificateNotReloaded": Seen("a key of another certificate's", "the right one", _CERTIFICATES),
    "AcklogIssuerKeysNotRead": Seen("an issuer that answers nobody", "it answers", _ISSUER),
    "AcklogIssuerKeysEnd": Seen("the same, with keys that are good for a minute", "it answers", _ISSUER),
    "AcklogAuditRecordsWait": Seen("`kill -9` of the only node, and refusals", "a start", _AUDIT),
    "AcklogAuditRecordsLost": Seen("the same, and more refusals than there is room for", "time", _AUDIT),
}


def seen_by(test: str) -> frozenset[str]:
    """The alerts that it has to see."""
    return frozenset(alert for alert, seen in FAULTS.items() if seen.test == test)


def alert_faults_table() -> str:
    rows = ["| alert | fires for | is over with | test |", "|---|---|---|---|"]
    for alert, seen in FAULTS.items():
        test = f"`{seen.test}`" if seen.test != NOT_SEEN else ""
        rows.append(f"| [{alert}]({alert}.md) | {seen.fault} | {seen.end} | {test} |")
    return "\n".join(rows) + "\n"
