"""Schemathesis, which makes requests from the OpenAPI document that nobody of us thought of, as a program."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance"),
    *("response_schema_conformance", "unsupported_method", "ignored_auth", "missing_required_header"),
)
_CASES = re.compile(r"^ *([\d,]+) generated, ([\d,]+) passed", re.MULTILINE)


@dataclass(frozen=True)
class Fuzzed:
    """What it said: everything, and how many requests it sent and found right."""

    said: str
    sent: int
    passed: int


def fuzzed(url: str, token: str, folder: Path, *options: str, seconds: float = 1200) -> Fuzzed:
    """Requests to all endpoints with a token; always the same ones. Fails with what it found."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/api/v1/openapi.json", "--no-color"]
    command += ["--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS)]
    command += ["--seed", "1", "--request-timeout", "60", *options]
    environment = os.environ | {"NO_PROXY": "*"}
    ended = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2000:]
    found = _CASES.search(ended.stdout)
    assert found, ended.stdout
    sent, passed = (int(number.replace(",", "")) for number in found.groups())
    return Fuzzed(ended.stdout, sent, passed)
