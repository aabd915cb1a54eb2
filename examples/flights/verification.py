"""Asks the server for everything it has, and lets the ledgers judge it."""

import asyncio
import time
from collections.abc import Callable, Sequence

from examples.flights.client import AcklogClient
from examples.flights.findings import Finding
from examples.flights.group_ledger import GroupLedger, check_lag
from examples.flights.killer import Restart
from examples.flights.log_check import LogCheck
from examples.flights.message import digest_of
from examples.flights.options import TOPIC, Options
from examples.flights.send_ledger import SendLedger

LAG_POLL_S = 0.1


async def verify(
    client: AcklogClient,
    options: Options,
    sent: SendLedger,
    groups: Sequence[GroupLedger],
    restarts: Sequence[Restart],
    on_read: Callable[[int], None],
) -> list[Finding]:
    """`on_read` is told how many records were read, as they come."""
    log_check = LogCheck(sent)
    for partition in range(options.partitions):
        await _read_partition(client, log_check, partition, on_read)
    findings = [sent.check_answers(), *log_check.findings()]
    for ledger in groups:
        findings += ledger.findings(sent)
        findings.append(await _lag_finding(client, ledger.group, sent.places().partitions(), options))
    if options.kills:
        findings.append(check_kills(restarts, asked=options.kills, steps_total=len(sent) * (1 + len(groups))))
    return findings


def check_kills(restarts: Sequence[Restart], *, asked: int, steps_total: int) -> Finding:
    """A run that was not disturbed has shown less than it says."""
    finding = Finding("the server was killed in the middle of the work, and came back", examined=len(restarts))
    finding.expect_equal("kills", found=len(restarts), expected=asked)
    for restart in restarts:
        if not 0 < restart.at_steps < steps_total:
            finding.violated(f"a kill came at step {restart.at_steps:,} of {steps_total:,}")
    return finding


async def _read_partition(
    client: AcklogClient, log_check: LogCheck, partition: int, on_read: Callable[[int], None]
) -> None:
    offset = 0
    while True:
        page = await client.read_log(TOPIC, partition, offset)
        for record in page.records:
            digest = digest_of(record.key, record.tags, bytes(record.body))
            log_check.record(partition, record.offset, record.key, digest)
        on_read(len(page.records))
        if page.next_offset <= offset:
            log_check.end(partition, page.high_watermark)
            return
        offset = page.next_offset


async def _lag_finding(client: AcklogClient, group: str, partitions: Sequence[int], options: Options) -> Finding:
    """Progress is shown with a delay of a second or so, so a lag is given some time to go."""
    deadline = time.monotonic() + options.lag_timeout_s
    while True:
        finding = check_lag(group, await client.lags(group, TOPIC), partitions=partitions)
        if finding.is_ok or time.monotonic() > deadline:
            return finding
        await asyncio.sleep(LAG_POLL_S)
