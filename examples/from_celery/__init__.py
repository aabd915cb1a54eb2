"""Functions as tasks, with retries and results. docs/recipes/from-celery.md explains it."""
