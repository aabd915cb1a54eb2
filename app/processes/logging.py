"""How the server logs: one line per event on standard error, JSON unless a person is looking."""

import logging
import sys
from collections.abc import Sequence

import structlog

from app.configuration.configuration_file import ConfigurationFile
from app.configuration.environment_variables import UnknownVariable
from cluster.line_limit import LineLimit

_HTTP_LOGGER = "uvicorn.error"
_TEXTS_MAX = 20


def configure_logging(level: str, *, worker: str = "") -> None:
    """Set up structlog and route the libraries' logging through it. `level`: debug, info, warning or error. Where a
    server is several processes, each line says which `worker` writes it."""
    is_terminal = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        *([_Worker(worker)] if worker else []),
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if is_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    handler.addFilter(_StrangersLines())
    logging.basicConfig(handlers=[handler], force=True)
    set_log_level(level)


def set_log_level(level: str) -> None:
    """Also while the server runs: its loggers ask for it with every line."""
    numeric_level = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(numeric_level))
    logging.getLogger().setLevel(max(numeric_level, logging.WARNING))


def log_also(processor: structlog.typing.Processor) -> None:
    """Have this one see every event, before all others."""
    structlog.configure(processors=[processor, *structlog.get_config()["processors"]])


class _Worker:
    """A processor, as I/O threads have no context of the event loop's."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, _logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["worker"] = self._name
        return event


class _StrangersLines(logging.Filter):
    """The HTTP parser's warnings are about what anybody may send: a limit for each of its few texts."""

    def __init__(self) -> None:
        super().__init__()
        self._limits: dict[str, LineLimit] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != _HTTP_LOGGER or record.levelno > logging.WARNING:
            return True
        text = str(record.msg)
        if text not in self._limits and len(self._limits) >= _TEXTS_MAX:
            text = ""
        left_out = self._limits.setdefault(text, LineLimit()).admits(record.created * 1000)
        if left_out:
            record.msg = f"{record.msg} ({left_out} such lines were left out)"
        return left_out is not None


def log_configuration(file: ConfigurationFile | None, unknown: Sequence[UnknownVariable]) -> None:
    """Which file was read, and a warning for each variable that is no setting; its value is nobody's business."""
    logger = structlog.get_logger()
    if file is not None:
        logger.info("configuration_read", file=file.path)
    for each in unknown:
        near = {"near": each.near} if each.near else {}
        logger.warning("unknown_variable_ignored", variable=each.name, **near)
