"""A follower's index of what is scheduled is in step with what is committed (rule R31), so that it may lead at once."""

from storage.log.log_table import LogKind
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.schedules import schedule


def test_it_is_in_step_after_a_restart_in_which_nothing_new_came() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        for number in range(5):
            await schedule(cluster.leader(topic), topic, b"%d" % number, delay_ms=3_600_000)
        follower = next(number for number in cluster.nodes if number != cluster.state(topic).leader)

        def is_in_step() -> bool:
            return cluster.replica(follower, topic).schedule.state.pending == 5

        await cluster.until(is_in_step)
        await cluster.clock.sleep(10_000)  # the high watermark is in its checkpoint
        await cluster.stop(follower)
        await cluster.start(follower)
        await cluster.in_sync(topic)
        await cluster.until(is_in_step)
        assert cluster.replica(follower, topic).schedule.is_up_to(
            cluster.replica(follower, topic).high_watermark(LogKind.SCHEDULE)
        )

    ClusterBuilder().nodes(3).run(main)
