"""The OpenAPI document says what the API does: schemathesis tries what it allows and forbids."""

import os
import subprocess
import sys
from pathlib import Path

from tests.serve.conftest import ROOT, Api, free_port, new_home, serving

TOKEN = "operators-own-token-1"

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)

RUN = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"


def test_the_api_does_what_its_document_says(tmp_path: Path) -> None:
    port = free_port()
    home = new_home(tmp_path / "home", f"api: {{tcp: '127.0.0.1:{port}'}}\n")
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    (home / "run/api.token").touch(mode=0o600)
    (home / "run/api.token").write_text(TOKEN)
    words = [
        "run", f"http://127.0.0.1:{port}/openapi.json",
        "--header", f"Authorization: Bearer {TOKEN}",
        "--checks", ",".join(CHECKS), "--phases", "coverage,fuzzing",
        "--max-examples", "8", "--seed", "1", "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    hooks = {"SCHEMATHESIS_HOOKS": "tests.serve.contract_hooks", "PYTHONPATH": str(ROOT)}
    with serving(home) as api:
        api.remember("something there is")
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, **hooks}, timeout=600,
        )  # fmt: skip
        assert api.process.poll() is None

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Tested: 15" in done.stdout, done.stdout[-2000:]


def test_the_document_names_every_route_once_and_loads_nothing_from_elsewhere(api: Api) -> None:
    told = api.get("/openapi.json").json()
    names = [one["operationId"] for path in told["paths"].values() for one in path.values()]

    assert sorted(names) == sorted(set(names))
    assert {"remember", "search", "show", "explain", "forget", "correct", "poll"} <= set(names)
    assert api.get("/docs").status_code == 404
    assert api.get("/redoc").status_code == 404
