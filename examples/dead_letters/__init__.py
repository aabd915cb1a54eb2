"""Retries, dead letters, and sending them back. docs/recipes/dead-letters.md explains it."""
