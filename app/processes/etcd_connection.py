"""A process's connection to etcd, proven before anything else begins."""

from collections.abc import Callable
from pathlib import Path

import structlog

from app.configuration.etcd_options import EtcdOptions
from cluster.etcd.etcd_certificates import EtcdCertificates
from cluster.etcd.etcd_store import EtcdStore
from cluster.etcd.failures import AccessDeniedError
from cluster.model import keys
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError
from cluster.ports.entropy import Entropy

RETRY_PAUSE_MS = 200

_log = structlog.get_logger(__name__)


class EtcdStartError(Exception):
    """etcd cannot be used; the text says why, and what to do."""


def not_reached(options: EtcdOptions, error: Exception) -> EtcdStartError:
    """With TLS an end that does not believe the other one just hangs up, so both are named."""
    text = f"etcd cannot be reached at {options.etcd}: {error}. Is it running, and is --etcd right?"
    if not options.uses_tls():
        return EtcdStartError(text)
    own = options.etcd_certificate_file
    shown = f"does it trust the certificate of --etcd-certificate-file ({own})?"
    missing = "if it asks who calls (--client-cert-auth), give --etcd-certificate-file and --etcd-key-file."
    trusted = f"Is --etcd-ca-file ({options.etcd_ca_file}) of who signed etcd's certificate?"
    return EtcdStartError(f"{text} {trusted} And {shown if own else missing}")


async def connect_to_etcd(
    options: EtcdOptions,
    certificates: EtcdCertificates | None,
    *,
    clock: Clock,
    entropy: Entropy,
    on_call: Callable[[str, float], None],
) -> EtcdStore:
    """Return once etcd has answered. `on_call` is told each call's method and seconds. Raises SettingsError, and
    EtcdStartError after `etcd_wait_ms` in vain, at once when etcd does not let us in."""
    settings = options.settings(lambda path: Path(path).read_bytes())
    tls = None if certificates is None else lambda: certificates.current
    store = EtcdStore(settings, clock=clock, entropy=entropy, on_call=on_call, tls=tls)
    try:
        await _wait_for_an_answer(store, options, clock)
    except BaseException:  # also who ends the process while it waits
        await store.close()
        raise
    return store


async def _wait_for_an_answer(store: EtcdStore, options: EtcdOptions, clock: Clock) -> None:
    give_up_at_ms = clock.monotonic_ms() + options.etcd_wait_ms
    while True:
        try:
            await store.get(keys.CONTROLLER)
            return
        except AccessDeniedError as error:
            raise EtcdStartError(
                f"etcd at {options.etcd} does not let us in: {error}. Look at --etcd-user, --etcd-password-file and "
                "--etcd-certificate-file, and at the role's permission for /acklog/."
            ) from error
        except CoordinationError as error:
            if clock.monotonic_ms() >= give_up_at_ms:
                raise not_reached(options, error) from error
            _log.warning("etcd_not_reached", endpoints=options.etcd, reason=str(error))
        await clock.sleep(RETRY_PAUSE_MS)
