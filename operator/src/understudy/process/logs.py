"""Logs: one JSON object a line on standard error, each with the process's own fields."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(**fields: str) -> None:
    structlog.configure(
        processors=[
            lambda _, __, event: {**fields, **event},
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
