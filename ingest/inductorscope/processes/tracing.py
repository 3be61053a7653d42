"""Sends traces to OpenTelemetry, if the environment names a receiver."""

import importlib.util
import logging
import os
from functools import cache

log = logging.getLogger(__name__)


@cache
def traces_receiver() -> str | None:
    """Returns the address of the receiver; None if there is none, or if OpenTelemetry is
    missing."""
    base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    address = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    address = address or (base and f"{base.removesuffix('/')}/v1/traces")
    if address and importlib.util.find_spec("opentelemetry") is None:
        log.warning("traces need OpenTelemetry: pip install 'inductorscope[traces]'")
        return None
    return address or None


def send_traces() -> None:
    """Sends waiting traces before a process ends at once."""
    if traces_receiver() is not None:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        provider = trace.get_tracer_provider()
        if isinstance(provider, TracerProvider):
            provider.force_flush()
