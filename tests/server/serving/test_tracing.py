"""Traces, received as a collector would."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from inductorscope.cli.client import Client
from inductorscope.jobs.queue.engine import WORKFLOW

from tests.support.places import FIXTURES
from tests.support.serving import serve

FOLDER = FIXTURES / "cuda-foo1" / "torch_compile_debug"

pytest.importorskip("opentelemetry.instrumentation.sqlalchemy")
traces = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")


@contextmanager
def collector(spans: list[Any]) -> Iterator[str]:
    """Receives spans over OTLP until the block ends; yields its address."""

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            for resource in traces.ExportTraceServiceRequest.FromString(body).resource_spans:
                spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_upload_its_job_and_a_request_with_its_queries_are_traces_without_secrets(
    tmp_path: Path,
) -> None:
    spans: list[Any] = []
    with collector(spans) as address:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with serve(tmp_path / "data", "--workers", "1", env=env) as served:
            assert httpx.get(served.url).status_code == 200
            assert httpx.get(f"{served.url}/shared/{'k' * 43}").status_code == 404
            pushed = Client(served.url).push([FOLDER], "traced", [], lambda *_: None)
            # A job is done shortly before its span ends, and spans are sent in batches.
            end = time.monotonic() + 30
            while time.monotonic() < end and WORKFLOW not in {span.name for span in spans}:
                time.sleep(0.05)
    assert pushed.state == "done"
    (job,) = (span for span in spans if span.name == WORKFLOW)
    requests = {span.trace_id for span in spans if span.name.startswith("POST /api/")}
    assert job.trace_id in requests
    assert {"attend"} <= {span.name for span in spans if span.trace_id == job.trace_id}
    (request,) = (span for span in spans if span.name == "GET /")
    queries = [span for span in spans if span.name.startswith("SELECT")]
    assert request.trace_id in {query.trace_id for query in queries}
    assert b"kkk" not in b"".join(span.SerializeToString() for span in spans)
