"""Nobody offers a queue to the network by mistake: where a process may listen, by what it asks of those who call."""

from app.configuration.loopback import is_loopback
from app.configuration.node_options import NodeOptions
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.configuration.tls_options import PeerOptions
from app.processes.required_tokens import asks_for_tokens
from cluster.tls.peer_tls import TlsUse


def check_exposure(settings: Settings) -> None:
    """Raises SettingsError."""
    if asks_for_tokens(settings) or settings.insecure or is_loopback(settings.host):
        return
    raise SettingsError(
        f"--host {settings.host} is reachable from other machines and there is no --tokens-file: anybody could read "
        "and write. Give a tokens file or --require-tokens, listen on 127.0.0.1, or say --insecure if that is what you "
        "want."
    )


def check_node_exposure(options: NodeOptions, peers: PeerOptions) -> None:
    """A node does what it is asked for, and asks nobody for a token. Where certificates are taken beside the clear, on
    the way to TLS, anybody may still speak in clear. Raises SettingsError."""
    host, _ = options.listen_address
    if peers.use is TlsUse.REQUIRE or options.insecure or is_loopback(host):
        return
    raise SettingsError(
        f"--listen {options.listen} is reachable from other machines, and without --peer-tls require anybody there "
        "could read and write everything. Give the node a certificate (acklog pki makes them), listen on 127.0.0.1, or "
        "say --insecure if nobody else reaches that network."
    )
