"""Attacks on a running server, with an honest client beside them. `arena` says how to add one."""
