"""Acklog: what a user imports and runs. The wire formats shared with the server live in `acklog.wire`."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("acklog")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
