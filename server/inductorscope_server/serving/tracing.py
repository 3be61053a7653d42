"""Traces for OpenTelemetry, if the environment names a receiver: FastAPI sends a span for each
request, and each query is a span in it. /metrics and the log have the rest."""

from __future__ import annotations

import logging
import os

from fastapi.telemetry import TelemetryConfig
from inductorscope import urls
from sqlalchemy import Engine

RECEIVERS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
SECRET = (urls.shared(""), urls.login())
"""Addresses with the keys of links, or with a provider's codes: they are not traced."""

log = logging.getLogger(__name__)

TELEMETRY: TelemetryConfig = {
    "auto_configure": True,
    "metrics": False,
    "logs": False,
    "exclude": lambda scope: str(scope["path"]).startswith(SECRET),
}


def trace_queries(engine: Engine) -> None:
    """Makes each query of the engine a span."""
    if not any(map(os.environ.get, RECEIVERS)):
        return
    try:
        from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
    except ImportError:
        log.warning("traces need OpenTelemetry: pip install 'inductorscope[traces]'")
    else:
        SQLAlchemyInstrumentor().instrument(engine=engine, skip_dep_check=True)  # it knows 2.0
