"""A worker that can be stopped at any time. docs/recipes/graceful-worker.md explains it."""
