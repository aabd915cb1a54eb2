"""The trace of a message that a gateway took, that nodes stored and leased, and that another gateway gave out."""

from pathlib import Path

import pytest

from tests.integration.test_tracing import check_story, is_told, live_and_die
from tests.support.otlp_receiver import http_receiver
from tests.support.real_cluster import RealClusterOptions, running_real_cluster

pytestmark = pytest.mark.integration


async def test_the_whole_life_of_a_message_is_one_trace_through_gateways_and_nodes(
    etcd_program: Path, tmp_path: Path
) -> None:
    async with http_receiver() as receiver:
        traced = {"ACKLOG_OTLP_ENDPOINT": receiver.url, "ACKLOG_TRACE_SAMPLE_PER_MILLE": "0"}
        options = RealClusterOptions(etcd_members=1, node_environment=traced, gateway_environment=traced)
        async with running_real_cluster(tmp_path, etcd_program, options) as cluster:
            sender, reader = cluster.gateway_urls
            await live_and_die(sender, reader)
            await receiver.until(is_told(receiver))
        check_story(receiver)
        services = {span.name: span.service for span in receiver.spans}
        assert services["send orders"] == "acklog-gateway"
        assert services["append orders"] == services["dead-letter orders"] == "acklog-node"
