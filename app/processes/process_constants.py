"""What every process of the server has in common."""

IO_THREADS = 4
GRACE_SECONDS = 30
VITAL_INTERVAL_MS = 500
"""How often a server on one machine looks whether its data directory has failed."""
COORDINATION_FILE = "coordination.sqlite"
"""In the data directory of a server on one machine: its coordination store."""

# An I/O thread that has finished an fdatasync needs the GIL to say so; at the default of 5 ms a busy event loop makes
# every send wait for it (p99 5.8 ms against 2.1 ms, measured with 64 connections).
SWITCH_INTERVAL_SECONDS = 5e-5
