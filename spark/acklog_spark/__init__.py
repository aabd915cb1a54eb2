"""What acklog-spark adds to the `acklog` command. It imports neither pyspark nor what needs it until a command runs."""
