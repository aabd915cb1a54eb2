"""Small jobs for Spark: each is a script for `spark-submit` or `python -m`."""
