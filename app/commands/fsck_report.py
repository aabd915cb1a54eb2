"""What `acklog fsck` says of a data directory: as JSON, and for a person."""

from typing import TYPE_CHECKING, Any

from acklog.command.views import Cell, Column, Fields, Sentence, Style, Table, View

if TYPE_CHECKING:
    from storage.check.directory_check import DirectoryReport
    from storage.check.figures import TopicFigures
    from storage.check.findings import FindingKind, Severity

PLACES_SHOWN_MAX = 20
_STYLES: dict[str, Style] = {"error": "bad", "warning": "warning", "note": "muted"}


def document(data_dir: str, report: "DirectoryReport") -> dict[str, object]:
    """What `--json` shows."""
    journal, findings = report.journal, report.findings
    return {
        "dataDir": data_dir,
        "directoryId": report.directory_id,
        "stoppedInOrder": report.was_clean,
        "topics": [
            {
                "topic": topic.name or None,
                "id": topic.topic_id,
                "isDeleted": topic.is_deleted,
                "partitions": topic.partitions,
                "segments": topic.segments,
                "batches": topic.batches,
                "messages": topic.messages,
                "sizeBytes": topic.size_bytes,
                "problems": topic.problems,
            }
            for topic in report.topics
        ],
        "journal": {
            "files": journal.files,
            "framesToReplay": journal.frames,
            "batchesOnlyThere": journal.batches,
            "messagesOnlyThere": journal.messages,
            "bytesOnlyThere": journal.size_bytes,
        },
        "findings": [
            {
                "severity": finding.kind.severity.value,
                "kind": finding.kind.name,
                "where": finding.where,
                "detail": finding.detail,
                "meaning": finding.kind.meaning,
                "advice": finding.kind.advice,
            }
            for finding in findings.kept
        ],
        "counts": {severity.value: count for severity, count in findings.counts.items()},
        "leftOut": findings.left_out,
        "isSound": not findings.errors,
    }


def views(report: "DirectoryReport") -> list[View]:
    """What a person sees."""
    return [_topics(report), _summary(report), *_findings(report), Sentence(""), _verdict(report)]


def _topics(report: "DirectoryReport") -> Table:
    columns = [
        Column("topic", may_wrap=True),
        *(Column(name, align="right") for name in ("partitions", "segments", "batches", "messages", "bytes")),
        Column("problems", align="right"),
    ]
    rows: list[list[Cell | str]] = [
        [
            _topic_cell(topic),
            *(_count(value) for value in (topic.partitions, topic.segments, topic.batches, topic.messages)),
            _count(topic.size_bytes),
            Cell(_count(topic.problems), "bad" if topic.problems else "good"),
        ]
        for topic in report.topics
    ]
    return Table(columns, rows, empty="There are no topics.")


def _topic_cell(topic: "TopicFigures") -> Cell:
    if topic.is_deleted:
        return Cell(f"{topic.name} (deleted)", "muted")
    return Cell(topic.name, "name") if topic.name else Cell(f"unknown: {topic.topic_id}", "warning")


def _summary(report: "DirectoryReport") -> Fields:
    journal = report.journal
    to_replay = f"{_count(journal.frames)} frames"
    if journal.batches:
        to_replay += f"; {_count(journal.batches)} batches with {_count(journal.messages)} messages are only there"
    stopped = "in order" if report.was_clean else "not in order (killed, or the power failed)"
    return Fields(
        [
            ("directory", report.directory_id or Cell("unknown", "bad")),
            ("last stop", stopped),
            ("journal", f"{_count(journal.files)} files"),
            ("to replay", to_replay if journal.frames else "nothing"),
        ]
    )


def _findings(report: "DirectoryReport") -> list[View]:
    """By kind, the worst first: what was found where, what it means, what to do."""
    by_kind: dict[FindingKind, list[Any]] = {}
    for finding in report.findings.kept:
        by_kind.setdefault(finding.kind, []).append(finding)
    views: list[View] = []
    for kind in sorted(by_kind, key=lambda each: list(_STYLES).index(each.severity.value)):
        severity = kind.severity.value
        views.append(Sentence(""))
        views.append(Sentence(f"{severity}: {kind.meaning}", _STYLES[severity]))
        found = by_kind[kind]
        views += [Sentence(f"  {each.where}: {each.detail}") for each in found[:PLACES_SHOWN_MAX]]
        if len(found) > PLACES_SHOWN_MAX:
            views.append(Sentence(f"  and {_count(len(found) - PLACES_SHOWN_MAX)} more; --json lists them", "muted"))
        views.append(Sentence(f"  -> {kind.advice}", "strong"))
    if report.findings.left_out:
        views.append(Sentence(f"{_count(report.findings.left_out)} findings are left out; see --max-findings", "muted"))
    return views


def _verdict(report: "DirectoryReport") -> Sentence:
    counts = report.findings.counts
    parts = [_plural(severity, count) for severity, count in counts.items() if count]
    if report.findings.errors:
        return Sentence(f"NOT SOUND: {', '.join(parts)}.", "bad")
    messages = sum(topic.messages for topic in report.topics)
    rest = f"; {', '.join(parts)}" if parts else ""
    return Sentence(f"Sound: {_count(messages)} messages verified{rest}.", "good")


def _plural(severity: "Severity", count: int) -> str:
    return f"{_count(count)} {severity.value}{'' if count == 1 else 's'}"


def _count(value: int) -> str:
    return f"{value:,}"
