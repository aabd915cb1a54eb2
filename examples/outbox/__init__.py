"""A FastAPI backend that posts events through a transactional outbox. docs/recipes/outbox.md explains it."""
