"""Connections that nobody else reads: contexts from files, who is at the other end, and a listener."""
