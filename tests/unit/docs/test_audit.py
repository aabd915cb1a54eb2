"""What docs/audit.md says of limits and modes is what the server goes by."""

import json
import re

import msgspec

from acklog.wire.limits import AUDIT_LISTED_MAX, DEDUP_WINDOW_MS_MAX
from app.audit.audit_mode import AuditMode
from app.audit.audit_record import AuditRecord, AuditResult
from app.audit.plain_value import VALUE_LENGTH_MAX
from app.audit.record_text import decode_record
from app.auth.principal import PrincipalKind
from app.configuration.server_settings import AUDIT_MODES, Settings
from app.http.parsing.audit import LISTED_DEFAULT
from app.services.audit_reader import CLOCKS_APART_MS_MAX
from cluster.model.internal_topics import audit_topic_config
from cluster.model.values import Encryption
from tests.unit.docs.documents import read_document, section, table

PAGE = read_document("audit.md")
TEXT = " ".join(PAGE.split())
DAY_MS, MIB = 86_400_000, 1024 * 1024


def test_modes() -> None:
    said = [row[0].strip("`") for row in table(section(PAGE, "Whether it is kept"))]
    assert said == [*(each.value for each in AuditMode), "(not given)"]
    assert {each.value for each in AuditMode} | {""} == AUDIT_MODES


def test_its_record_is_one() -> None:
    [example] = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    record = decode_record(json.dumps(json.loads(example)).encode())
    assert record is not None
    names = [each.encode_name for each in msgspec.structs.fields(AuditRecord)]
    assert set(json.loads(example)) <= set(names)
    rows = " ".join(row[0] for row in table(section(PAGE, "What is recorded")))
    assert [name for name in names if f"`{name}`" not in rows] == ["offset"]


def test_results_and_kinds() -> None:
    for word in (*(each.value for each in AuditResult), *(each.value for each in PrincipalKind)):
        assert f"`{word}`" in PAGE


def test_limits() -> None:
    settings = Settings()
    config = audit_topic_config(min_insync_replicas=1, retention_ms=1, retention_bytes=1, encryption=Encryption.OFF)
    for said in (
        f"`--audit-timeout-ms` ({settings.audit_timeout_ms // 1000} seconds)",
        f"`--audit-waiting-bytes-max` ({settings.audit_waiting_bytes_max // MIB} MiB)",
        f"the first {settings.audit_refusals_in_full_max} refusals in a minute",
        f"{settings.audit_refusal_kinds_max:,} such kinds",
        f"{settings.audit_retention_ms // DAY_MS} days (`--audit-retention-ms`)",
        f"{settings.audit_retention_bytes // (1024 * MIB)} GiB (`--audit-retention-bytes`)",
        f"whole segments of {config.segment_bytes // MIB} MiB",
        f"`max` ({LISTED_DEFAULT} by default, at most {AUDIT_LISTED_MAX:,})",
        f"Values are cut at {VALUE_LENGTH_MAX:,} characters",
    ):
        assert said in TEXT, said
    assert settings.audit_refusal_interval_ms == 60_000, "a minute"
    assert config.dedup_window_ms == DEDUP_WINDOW_MS_MAX == 3_600_000, "an hour"
    assert CLOCKS_APART_MS_MAX == 5 * 60_000, "five minutes"
