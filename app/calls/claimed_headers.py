"""Headers of messages that others take for the server's word."""

SENDER = "sqs.sender"
"""Who sent the message by a call of SQS."""
