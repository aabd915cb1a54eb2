import pytest

from app.configuration.configured_process import PROCESSES
from app.configuration.setting_error import SettingsError
from app.configuration.trace_options import TraceOptions


@pytest.mark.parametrize("table", ["serve", "node", "gateway"])
def test_every_process_takes_them(table: str) -> None:
    loaded = PROCESSES[table].load({"ACKLOG_TRACE_QUEUE_MAX": "7"}, ["--otlp-endpoint", "http://collector:4318"])
    options = loaded.make(TraceOptions)
    assert (options.otlp_endpoint, options.otlp_protocol, options.trace_queue_max) == (
        "http://collector:4318",
        "http/protobuf",
        7,
    )


def test_nothing_is_traced_unless_somebody_says_where_to() -> None:
    assert TraceOptions().otlp_endpoint == ""


@pytest.mark.parametrize(
    "endpoint", ["collector:4318", "ftp://collector", "http://", "http://collector:0", "http://[::1"]
)
def test_an_endpoint_is_a_url(endpoint: str) -> None:
    with pytest.raises(SettingsError, match="--otlp-endpoint, ACKLOG_OTLP_ENDPOINT"):
        TraceOptions(otlp_endpoint=endpoint)


def test_other_protocols_are_not_spoken() -> None:
    with pytest.raises(SettingsError, match=r"http/protobuf or grpc \(--otlp-protocol"):
        TraceOptions(otlp_protocol="http/json")


@pytest.mark.parametrize("per_mille", [-1, 1_001])
def test_a_share_is_one_of_a_thousand(per_mille: int) -> None:
    with pytest.raises(SettingsError, match="0 to 1000"):
        TraceOptions(trace_sample_per_mille=per_mille)
