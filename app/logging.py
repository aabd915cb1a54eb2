"""How the server logs: one line per event on standard error, JSON unless a person is looking."""

import logging
import sys
from collections.abc import Sequence

import structlog

from app.environment_variables import UnknownVariable


def configure_logging(level: str) -> None:
    """Set up structlog and route the libraries' logging through it. `level`: debug, info, warning or error."""
    is_terminal = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if is_terminal else structlog.processors.JSONRenderer()
    )
    numeric_level = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(numeric_level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer], foreign_pre_chain=shared
        )
    )
    logging.basicConfig(handlers=[handler], level=max(numeric_level, logging.WARNING), force=True)


def log_unknown_variables(unknown: Sequence[UnknownVariable]) -> None:
    """A warning for each; its value is nobody's business."""
    for each in unknown:
        near = {"near": each.near} if each.near else {}
        structlog.get_logger().warning("unknown_variable_ignored", variable=each.name, **near)
