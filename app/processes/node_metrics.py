"""What the storage node of this process has to tell, for Prometheus: read when asked, bounded in labels."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from acklog.version import __version__
from app.gateway.bounded_names import BoundedNames
from app.gateway.exposition import LabelledFamily, Labels, SteppedCollector
from app.processes.group_metrics import GroupMetrics
from app.processes.namespace_metrics import NamespaceMetrics
from cluster.metadata.metadata_view import MetadataView
from storage.node.storage_node import StorageNode
from storage.node.vital_signs import VitalSigns


class NodeCollector(SteppedCollector):
    """`names_max` topics, and as many groups and namespaces, are told apart; the rest together is "other"."""

    def __init__(self, node: StorageNode, metadata: MetadataView, *, names_max: int) -> None:
        self._node = node
        self._metadata = metadata
        self._topics = BoundedNames(names_max)
        self._by_group = GroupMetrics(node, metadata, self._topics, BoundedNames(names_max))
        self._by_namespace = NamespaceMetrics(node, metadata, BoundedNames(names_max))

    def steps(self) -> Iterator[Metric | None]:
        node = self._node
        self._topics.keep(lambda name: self._metadata.topic(name) is not None)
        yield _gauge("acklog_storage_failed", "1 when the data directory is not served any more", bool(node.failure))
        yield _gauge("acklog_partitions_led", "Partitions that the node leads", len(node.partitions_led()))
        yield _gauge("acklog_partitions_refused", "Partitions whose files are damaged", node.partitions_refused)
        text = "Batches that were found since the start with right checksums, and cannot be decrypted"
        yield _gauge("acklog_undecryptable_batches", text, node.logs.undecryptable.count)
        text = "Data keys of encrypted topics that the node has not unwrapped yet"
        yield _gauge("acklog_data_keys_missing", text, node.missing_data_keys)
        yield _gauge("acklog_append_pending_bytes", "Bytes that wait for the disk", node.logs.pending_bytes)
        yield _gauge("acklog_waiting_receives", "Receives that wait for messages", node.waiting_receives)
        yield _gauge("acklog_cache_bytes", "Batches kept in memory for readers", node.cache_bytes)
        yield _gauge("acklog_recovery_cut_bytes", "Torn bytes that the last start cut", node.logs.report.cut_bytes)
        signs = node.vital_signs()
        yield from self._vital_signs(signs)
        yield from self._scrub(signs.clock_ms)
        yield from self._by_topic()
        yield from self._scheduled()
        yield from self._redriven()
        yield from self._compacted()
        yield from self._tables()
        yield from self._deleted()
        yield from self._filtered()
        yield from self._by_group.steps(signs.clock_ms)
        yield from self._by_namespace.steps()

    def _vital_signs(self, signs: VitalSigns) -> Iterable[Metric]:
        yield _family("acklog_server_info", "1, with the server's version", ["version"], {(__version__,): 1})
        yield _gauge("acklog_clock_seconds", "The server's time, since 1970", signs.clock_ms / 1000)
        yield _gauge("acklog_disk_free_bytes", "Room on the data directory's disk", signs.disk_free_bytes)
        yield _gauge("acklog_disk_reserve_bytes", "With less room sends are refused", signs.disk_reserve_bytes)
        used: dict[tuple[str, ...], float] = {(name,): share for name, share in signs.used.items()}
        yield _family("acklog_limit_used_ratio", "Share of a limit that is used, 0 to 1", ["limit"], used)

    def _scrub(self, now_ms: int) -> Iterable[Metric]:
        scrub = self._node.logs.scrub
        age_s = (now_ms - scrub.last_pass_ms) / 1000 if scrub.last_pass_ms >= 0 else -1
        text = "Stored bytes that were verified again since the start"
        yield CounterMetricFamily("acklog_scrub_bytes", text, value=float(scrub.verified_bytes))
        text = "Damaged places that the last full pass over what is stored has found, or the one under way"
        yield _gauge("acklog_scrub_damaged_places", text, scrub.damaged_places)
        yield _gauge("acklog_scrub_last_pass_age_seconds", "Since the last full pass ended; -1: there was none", age_s)

    def _by_topic(self) -> Iterable[Metric]:
        sums: dict[str, tuple[int, int]] = {}
        for partition in self._node.partitions_led():
            host = partition.host
            label = self._topics.label(host.topic.name)
            size_bytes, end = sums.get(label, (0, 0))
            sums[label] = size_bytes + host.log.size_bytes, end + host.high_watermark
        rows = [(Labels(["topic"], [label]), *found) for label, found in sums.items()]
        sizes: dict[Labels, float] = {labels: size_bytes for labels, size_bytes, _ in rows}
        ends: dict[Labels, float] = {labels: end for labels, _, end in rows}
        yield LabelledFamily("acklog_log_bytes", "Bytes of a topic's logs", "gauge", ["topic"], sizes)
        yield LabelledFamily("acklog_high_watermark", "Sum of a topic's high watermarks", "gauge", ["topic"], ends)

    def _scheduled(self) -> Iterable[Metric]:
        pending: dict[tuple[str, ...], float] = {}
        figures = self._node.figures.schedules
        for partition in self._node.partitions_led():
            if partition.schedule.keeper.has_any:
                label = (self._topics.label(partition.host.topic.name),)
                pending[label] = pending.get(label, 0) + partition.schedule.pending
        yield _family("acklog_scheduled_pending", "Messages that are to be seen later", ["topic"], pending)
        text = "Scheduled messages that became visible, since the node's start"
        yield CounterMetricFamily("acklog_scheduled_delivered", text, value=float(figures.delivered))
        text = "By how much those were late, all together, in seconds"
        yield CounterMetricFamily("acklog_scheduled_late_seconds", text, value=figures.late_ms / 1000)
        text = "Scheduled messages that went to another partition when they were due, since the node's start"
        yield CounterMetricFamily("acklog_scheduled_handed_over", text, value=float(figures.handed_over))
        text = "Messages of recurring schedules, since the node's start"
        yield CounterMetricFamily("acklog_recurring_sent", text, value=float(figures.recurred))
        text = "Times of recurring schedules that got no message, as far as they were counted"
        yield CounterMetricFamily("acklog_recurring_passed_over", text, value=float(figures.passed_over))
        text = "By how much the latest of them was late, in seconds, since the node's start"
        yield _gauge("acklog_scheduled_late_seconds_max", text, figures.late_ms_max / 1000)

    def _redriven(self) -> Iterable[Metric]:
        redrives = self._node.redrives
        text = "Dead letters that the node's redrive jobs have sent back since its start"
        yield CounterMetricFamily("acklog_redrive_moved", text, value=float(redrives.figures.moved))
        text = "Dead letters that those could not send, and left"
        yield CounterMetricFamily("acklog_redrive_failed", text, value=float(redrives.figures.failed))
        text = "Partitions of dead letters that redrive jobs are working at"
        yield _gauge("acklog_redrive_parts", text, redrives.parts_running)

    def _compacted(self) -> Iterable[Metric]:
        figures = self._node.compactor.figures
        text = "Passes of compaction over a partition's log since the start"
        yield CounterMetricFamily("acklog_compaction_passes", text, value=float(figures.passes))
        text = "Messages that these removed: there was a later one with their key"
        yield CounterMetricFamily("acklog_compaction_records_removed", text, value=float(figures.records_removed))
        text = "Bytes by which the logs became smaller"
        yield CounterMetricFamily("acklog_compaction_reclaimed_bytes", text, value=float(figures.bytes_reclaimed))
        text = "Passes that could not be made, and are tried again"
        yield CounterMetricFamily("acklog_compaction_failures", text, value=float(figures.failures))
        dirty: dict[tuple[str, ...], int] = {}
        all_bytes: dict[tuple[str, ...], int] = {}
        for partition, plan in self._node.compactor.last_plans().items():
            topic = self._metadata.topic_by_id(partition.topic_id)
            label = (self._topics.label("deleted" if topic is None else topic.name),)
            dirty[label] = dirty.get(label, 0) + plan.dirty_bytes
            all_bytes[label] = all_bytes.get(label, 0) + plan.dirty_bytes + plan.clean_bytes
        text = "Share of what may be compacted of a topic, on this node, that has come since the passes before, 0 to 1"
        ratios: dict[tuple[str, ...], float] = {label: dirty[label] / max(all_bytes[label], 1) for label in dirty}
        yield _family("acklog_compaction_dirty_ratio", text, ["topic"], ratios)

    def _tables(self) -> Iterable[Metric]:
        tables, figures = self._node.tables, self._node.tables.figures
        questions = {"found": figures.found, "without_value": figures.without_value, "failed": figures.failed}
        text = "Questions for the latest value of a key since the start, by what became of them"
        family = CounterMetricFamily("acklog_table_lookups", text, labels=["result"])
        for result, count in questions.items():
            family.add_metric([result], float(count))
        yield family
        text = "Messages of logs that indexes of keys were brought forward by"
        yield CounterMetricFamily("acklog_table_indexed_messages", text, value=float(figures.messages_taken_over))
        text = "Indexes of keys that were wrong or could not be used, and are made anew"
        yield CounterMetricFamily("acklog_table_index_failures", text, value=float(figures.indexes_failed))
        yield _gauge("acklog_table_indexes_open", "Indexes of keys that are open", len(tables))

    def _deleted(self) -> Iterable[Metric]:
        figures = self._node.deletions.figures
        text = "Purges and deletions before an offset or a time since the start, partition by partition"
        yield CounterMetricFamily("acklog_deletions", text, value=float(figures.deletions))
        text = "Offsets that these took: messages, and what compaction had left of them"
        yield CounterMetricFamily("acklog_deleted_messages", text, value=float(figures.messages))

    def _filtered(self) -> Iterable[Metric]:
        figures = self._node.figures.filters
        text = "Messages that filters of groups, calls and reads passed over since the start, as often as they looked"
        yield CounterMetricFamily("acklog_filter_passed_over_messages", text, value=float(figures.messages))
        text = "What those take in the logs, and was not sent"
        yield CounterMetricFamily("acklog_filter_passed_over_bytes", text, value=float(figures.size_bytes))
        text = "Batches of them that were not decoded, as their headers say that no message can match"
        yield CounterMetricFamily("acklog_filter_skipped_batches", text, value=float(figures.batches_skipped))


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _family(name: str, text: str, labels: list[str], values: Mapping[tuple[str, ...], float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family
