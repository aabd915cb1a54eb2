"""Exports as an archive: read below the log's start, and sent again."""
