"""What a doctor says of tokens that share a name, by the figures of the gateway that was asked."""

from collections.abc import Iterator

from acklog.command.checkup import Check, warn
from acklog.command.quantities import count_text
from acklog.command.server_metrics import ServerMetrics


def namesake_checks(metrics: ServerMetrics) -> Iterator[Check]:
    """Nothing where there are none."""
    shared = metrics.value("acklog_token_names_shared")
    if shared:
        finding = f"{count_text(int(shared), 'name')} of stored tokens also in the tokens file: each lets in by itself"
        advice = "See which in the server's log (token_names_shared), and take one of the two away, or rename it."
        yield warn("token names", finding, advice)
