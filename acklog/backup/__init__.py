"""Backups of a server or a cluster, and their restore: what `acklog backup` and `acklog restore` are made of."""
