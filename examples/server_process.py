"""A server as a process of its own, for what starts one from a checkout. It lives in the local cluster."""

from app.local_cluster.server_process import (
    HOST,
    ServerFailedError,
    ServerProcess,
    acklog_command,
    free_port,
    server_environment,
)

__all__ = ["HOST", "ServerFailedError", "ServerProcess", "acklog_command", "free_port", "server_environment"]
