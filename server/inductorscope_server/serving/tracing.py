"""Sends traces to OpenTelemetry, if the environment names a receiver: FastAPI makes a span for each
request, with a span for each query in it. /metrics and the log have the rest."""

from fastapi.telemetry import TelemetryConfig
from inductorscope import urls
from inductorscope.processes.tracing import traces_receiver
from sqlalchemy import Engine

SECRET = (urls.shared(""), urls.login())
"""Addresses that contain keys of links, or a provider's codes: they are not traced."""

TELEMETRY: TelemetryConfig = {
    "auto_configure": True,
    "metrics": False,
    "logs": False,
    "exclude": lambda scope: str(scope["path"]).startswith(SECRET),
}


def trace_queries(engine: Engine) -> None:
    """Makes each query of the engine a span."""
    if traces_receiver() is None:
        return
    from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor

    # The library supports 2.0.
    SQLAlchemyInstrumentor().instrument(engine=engine, skip_dep_check=True)
