"""One HTTP server that answers as Livy, EMR Serverless, Databricks and Kubernetes do, and runs no job.

It notes what is submitted, and leaves the receipt of a job in the store as the job would.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


@dataclass
class Services:
    """The requests of the server; ``ends_well``: what it says of each job in the end."""

    ran: Callable[[list[str]], None]
    port: int = 0
    ends_well: bool = True
    submitted: list[dict[str, Any]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, method: str, path: str, body: Any) -> Answer:
        """Return the status and the answer to one request."""
        for pattern, answer in _ROUTES:
            if found := re.fullmatch(pattern, f"{method} {path.partition('?')[0]}"):
                return answer(self, body, *found.groups())
        return 404, {"message": f"{method} {path} is not known"}

    def submit(self, body: dict[str, Any], arguments: list[str], **said: Any) -> Answer:
        """Note what is submitted, and run it."""
        self.submitted.append(body)
        self.ran(arguments)
        return 200, said


def _emr(self: Services, body: Any, *_: str) -> Answer:
    return self.submit(body, body["jobDriver"]["sparkSubmit"]["entryPointArguments"], jobRunId="j1")


def _emr_run(self: Services, *_: Any) -> Answer:
    run = {"state": "SUCCESS" if self.ends_well else "FAILED", "stateDetails": "as it was"}
    return 200, {"jobRun": run}


def _livy_state(self: Services, *_: Any) -> Answer:
    return 200, {"state": "success" if self.ends_well else "dead"}


def _databricks(self: Services, body: Any, *_: str) -> Answer:
    return self.submit(body, body["spark_python_task"]["parameters"], run_id=7)


def _databricks_run(self: Services, *_: Any) -> Answer:
    state = {
        "life_cycle_state": "TERMINATED",
        "result_state": "SUCCESS" if self.ends_well else "FAILED",
        "state_message": "as it was",
    }
    return 200, {"run_id": 7, "run_page_url": "http://here", "state": state, "tasks": []}


def _application(self: Services, body: Any, *_: str) -> Answer:
    self.submit(body, body["spec"]["arguments"])
    return 201, body


def _application_state(self: Services, *_: Any) -> Answer:
    return 200, {"status": {"applicationState": {"state": "RUNNING"}}}


def _pods(self: Services, *_: Any) -> Answer:
    return 200, {"kind": "PodList", "items": [_pod(self)] if self.submitted else []}


def _pod(self: Services) -> dict[str, Any]:
    code = 0 if self.ends_well else 1
    ended = {"terminated": {"exitCode": code, "finishedAt": "2026-11-21T02:00:00Z"}}
    container = "spark-kubernetes-driver"
    return {
        "kind": "Pod",
        "metadata": {"name": "votes-driver", "namespace": "spark", "labels": {}},
        "spec": {"containers": [{"name": container}]},
        "status": {
            "phase": "Succeeded" if self.ends_well else "Failed",
            "containerStatuses": [
                {
                    "name": container,
                    "state": ended,
                    "ready": False,
                    "restartCount": 0,
                    "image": "i",
                    "imageID": "i",
                }
            ],
        },
    }


def _cancel(self: Services, body: Any, *named: str) -> Answer:
    self.cancelled.append("/".join(named) or json.dumps(body))
    return 200, {}


_SPARK_APPLICATIONS = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/spark/sparkapplications"
_ROUTES: list[tuple[str, Callable[..., Answer]]] = [
    ("POST /batches", lambda self, body: self.submit(body, body["args"], id=3)),
    ("GET /batches/3/state", _livy_state),
    ("GET /batches/3/log", lambda self, body: (200, {"total": 0, "log": []})),
    ("GET /batches/3", lambda self, body: (200, {"id": 3, "appId": "application_1"})),
    ("DELETE /batches/(3)", _cancel),
    ("GET /applications/app", lambda self, body: (200, {"application": {"state": "STARTED"}})),
    ("POST /applications/app/jobruns", _emr),
    ("GET /applications/app/jobruns/j1", _emr_run),
    ("DELETE /applications/app/jobruns/(j1)", _cancel),
    ("POST /api/2.2/jobs/runs/submit", _databricks),
    ("GET /api/2.2/jobs/runs/get", _databricks_run),
    ("POST /api/2.2/jobs/runs/cancel", _cancel),
    (f"POST {_SPARK_APPLICATIONS}", _application),
    (f"GET {_SPARK_APPLICATIONS}/[^/]+/status", _application_state),
    (f"DELETE {_SPARK_APPLICATIONS}/(.+)", _cancel),
    ("GET /api/v1/namespaces/spark/pods", _pods),
    ("(?:GET|PATCH) /api/v1/namespaces/spark/pods/[^/]+", lambda self, body: (200, _pod(self))),
    ("GET /api/v1/namespaces/spark/pods/[^/]+/log", lambda self, body: (200, "")),
    ("GET /api/v1/namespaces/spark/events", lambda self, body: (200, {"items": []})),
]


@contextmanager
def cluster_services(ran: Callable[[list[str]], None]) -> Iterator[Services]:
    """Serve on a port of this machine; ``ran`` is called with the arguments of each job."""
    services = Services(ran)

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            services.headers.update(self.headers)
            try:
                body = json.loads(text) if text else None
            except ValueError:
                body = text
            status, answer = services.answer(self.command, self.path, body)
            content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        services.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield services
        server.shutdown()
