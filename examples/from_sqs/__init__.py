"""A worker at a queue of SQS that uses Acklog's own API. docs/recipes/from-sqs.md explains it."""
