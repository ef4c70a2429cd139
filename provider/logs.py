"""Logs as JSON lines on standard error: an event name, then data as fields.

The job id is a field of every event about a job (`job_id`). Payloads, inputs and outputs are never logged;
`KEPT_OUT` removes them by name all the same (standard §14).
"""

import logging.config
from collections.abc import MutableMapping
from typing import Any

import structlog

KEPT_OUT = frozenset(
    {"payload", "payment", "input", "output", "value", "body", "transaction_xdr", "authorization", "token"}
)


def configure_logging(level: str = "INFO") -> None:
    """Send structlog and the standard library through one JSON formatter. Safe to call twice."""
    logging.config.dictConfig(logging_config(level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_shared_processors(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def logging_config(level: str = "INFO") -> dict[str, Any]:
    """Return the standard library's part, in the form of `logging.config.dictConfig`."""
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _shared_processors(),
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(default=str),
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
    }


def keep_out(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace what must never reach a log by its name alone."""
    for field in KEPT_OUT & event.keys():
        event[field] = "(kept out)"
    return event


def _shared_processors() -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        keep_out,
    ]
