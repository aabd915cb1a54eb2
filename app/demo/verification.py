"""Asks the server for everything it has, and lets the ledgers judge it."""

import asyncio
from collections.abc import Sequence

from acklog.client.async_client import AsyncClient
from app.demo.findings import PromiseCheck
from app.demo.group_ledger import GroupLedger, check_lag
from app.demo.killer import VictimRestart
from app.demo.message import digest_of
from app.demo.options import TOPIC, Options
from app.demo.records_check import RecordsCheck
from app.demo.send_ledger import SendLedger
from app.demo.work import Work

LAG_POLL_S = 0.1


class Verification:
    """Every finding about one run."""

    def __init__(self, client: AsyncClient, options: Options, work: Work, promise_of_kills: str) -> None:
        self._client = client
        self._options = options
        self._work = work
        self._promise_of_kills = promise_of_kills

    async def run(
        self, sent: SendLedger, groups: Sequence[GroupLedger], restarts: Sequence[VictimRestart]
    ) -> list[PromiseCheck]:
        """After all the work. Raises AcklogError."""
        log_check = RecordsCheck(sent)
        for partition in range(self._options.partitions):
            await self._read_partition(log_check, partition)
        findings = [sent.check_answers(), *log_check.findings()]
        for ledger in groups:
            findings += ledger.findings(sent)
            findings.append(await self._lag_finding(ledger.group, sent.places().partitions()))
        if self._options.kills:
            steps_total = len(sent) * (1 + len(groups))
            finding = PromiseCheck(self._promise_of_kills, examined=len(restarts))
            findings.append(check_kills(finding, restarts, asked=self._options.kills, steps_total=steps_total))
        return findings

    async def _read_partition(self, log_check: RecordsCheck, partition: int) -> None:
        offset = 0
        while True:
            page = await self._client.records(TOPIC, partition, offset=offset)
            for message in page.messages:
                digest = digest_of(message.key, message.tags, message.body_bytes)
                log_check.record(partition, message.offset, message.key, digest)
            self._work.read_back += len(page.messages)
            if page.next_offset <= offset:
                log_check.end(partition, page.high_watermark)
                return
            offset = page.next_offset

    async def _lag_finding(self, group: str, partitions: Sequence[int]) -> PromiseCheck:
        """Progress is shown with a delay of a second or so, so a lag is given some time to go."""
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + self._options.lag_timeout_s
        while True:
            shown = await self._client.groups.offsets(group, TOPIC)
            lags = {each.partition: each.lag for each in shown.offsets if each.topic == TOPIC and each.lag is not None}
            finding = check_lag(group, lags, partitions=partitions)
            if finding.is_ok or now_s() > deadline_s:
                return finding
            await asyncio.sleep(LAG_POLL_S)


def check_kills(
    finding: PromiseCheck, restarts: Sequence[VictimRestart], *, asked: int, steps_total: int
) -> PromiseCheck:
    """A run that was not disturbed has shown less than it says."""
    finding.expect_equal("kills", found=len(restarts), expected=asked)
    for restart in restarts:
        if not 0 < restart.at_steps < steps_total:
            finding.violated(f"a kill came at step {restart.at_steps:,} of {steps_total:,}")
    return finding
