"""A year of flights through a topic into Parquet, while producers keep sending and the server is killed."""
