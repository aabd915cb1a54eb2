"""A server as a process of its own, for what starts one from a checkout. It lives in the demo, which is installed."""

from app.demo.server_process import (
    HOST,
    ServerFailedError,
    ServerProcess,
    acklog_command,
    free_port,
    server_environment,
)

__all__ = ["HOST", "ServerFailedError", "ServerProcess", "acklog_command", "free_port", "server_environment"]
