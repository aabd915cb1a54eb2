"""What a doctor looks at in a cluster as a whole."""

from typing import TYPE_CHECKING

from acklog.command.checkup import Check, fail, names_text, ok, warn
from acklog.command.quantities import count_text

if TYPE_CHECKING:
    from acklog.cluster import ClusterStatus

_UPGRADE = "Install the version of the others there, one node at a time."


def nodes_check(status: "ClusterStatus") -> Check:
    """Whether nodes live side by side that do not know the same."""
    live = [node for node in status.nodes if node.live]
    too_old = [str(node.node) for node in live if node.protocol < status.needed_protocol]
    if too_old:
        finding = f"of a version that cannot serve some group that there is: node {names_text(too_old)}"
        return fail("nodes", finding, _UPGRADE)
    newest = max((node.protocol for node in live), default=0)
    earlier = [str(node.node) for node in live if node.protocol < newest]
    if earlier:
        return warn("nodes", f"of an earlier version than others: node {names_text(earlier)}", _UPGRADE)
    return ok("nodes", f"{count_text(len(live), 'node')}, all of one version")
