"""A worker that was written for SQS. docs/recipes/from-sqs.md explains it."""
