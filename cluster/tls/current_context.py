"""What the next connection is opened with. It changes with its files; connections that are open go on."""

import ssl
from collections.abc import Callable

from cluster.tls.tls_files import TlsFiles


class CurrentContext:
    """`context` may be another one each time that it is asked for. Made, and refreshed, where blocking is allowed."""

    def __init__(self, files: TlsFiles, make: Callable[[TlsFiles], ssl.SSLContext]) -> None:
        """`make` as in `cluster.tls.contexts`. Raises TlsFilesError."""
        self.files = files
        self._make = make
        self._content = files.read()
        self.context = make(files)

    def refresh(self) -> bool:
        """Look at the files, and take what they hold. Whether it was something else than before. Raises TlsFilesError;
        then it goes on with what it had."""
        content = self.files.read()
        if content == self._content:
            return False
        self.context = self._make(self.files)
        self._content = content
        return True
