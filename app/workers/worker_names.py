"""What the processes of one server are called: in its log, in its metrics, and by its sockets."""

SUPERVISOR = "supervisor"
STORAGE = "storage"
STORAGE_SOCKET = "storage.sock"


def gateway_name(number: int) -> str:
    return f"gateway-{number}"


def gateway_names(count: int) -> list[str]:
    return [gateway_name(number) for number in range(1, count + 1)]


def metrics_socket(worker: str) -> str:
    return f"metrics-{worker}.sock"
