"""The files of TLS to etcd, which may be others than at the start."""

from collections.abc import Callable

from cluster.etcd.etcd_settings import EtcdTls
from cluster.tls.tls_files import TlsFilesError


class EtcdCertificates:
    """`current` is for the next connection. `read` reads the files; it blocks, and raises ValueError."""

    def __init__(self, first: EtcdTls, read: Callable[[], EtcdTls]) -> None:
        self.current = first
        self._read = read

    def refresh(self) -> bool:
        """Look at the files, and take what they hold. Whether it was something else than before. Blocks. Raises
        TlsFilesError; then it goes on with what it had."""
        try:
            found = self._read()
        except ValueError as error:
            raise TlsFilesError(str(error)) from None
        if found == self.current:
            return False
        self.current = found
        return True
