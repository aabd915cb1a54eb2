"""A worker that knows SQS only: it uses boto3, and runs here as at AWS. docs/sqs.md explains it."""
