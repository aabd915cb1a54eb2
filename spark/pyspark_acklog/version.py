"""The version of the data source."""

__version__ = "0.1.0"
