"""Clients of SQS against a cluster: queues, messages and dead letters by whichever gateway."""

import asyncio

import pytest

from tests.support.real_cluster import RealCluster
from tests.support.sqs_clients import credentials, node_command, python_of, run_client

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.xdist_group("cluster"),
]


async def test_boto3(shared_cluster: RealCluster) -> None:
    command = [str(python_of("python")), "boto3_job.py"]
    await asyncio.to_thread(run_client, command, credentials(shared_cluster.gateway_urls[0]))


async def test_javascript(shared_cluster: RealCluster) -> None:
    await asyncio.to_thread(run_client, node_command(), credentials(shared_cluster.gateway_urls[1]))
