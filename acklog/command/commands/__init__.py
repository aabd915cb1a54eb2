"""One module per command, or per family of commands. Each has a `command`, which the catalogue names."""
