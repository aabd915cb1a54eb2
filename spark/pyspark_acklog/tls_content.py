"""What files for TLS hold, on its way from the driver to workers, which have no such files."""

import ssl
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path

from acklog.client.tls_context import context_of
from acklog.client.tls_files import ClientTlsFiles


@dataclass(frozen=True, slots=True)
class TlsContent:
    """By the names of `ClientTlsFiles`. It is not shown: a private key is among it."""

    ca_file: bytes | None = field(default=None, repr=False)
    certificate_file: bytes | None = field(default=None, repr=False)
    key_file: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, files: ClientTlsFiles) -> "TlsContent":
        """Raises InvalidArgument for files that cannot be used, OSError for those that go meanwhile."""
        context_of(files)  # here it can still be said which file is wrong
        return cls(**{name: Path(path).read_bytes() for name, path in files.given().items()})

    def context(self) -> ssl.SSLContext:
        """The library takes certificates of one's own by their paths only: they are files, which nobody else may read,
        for as long as that takes."""
        with tempfile.TemporaryDirectory(prefix="acklog-tls-") as folder:
            paths: dict[str, str] = {}
            for each in fields(self):
                content = getattr(self, each.name)
                if content is not None:
                    path = Path(folder) / each.name
                    path.write_bytes(content)
                    paths[each.name] = str(path)
            return context_of(ClientTlsFiles(**paths))
