"""`aisbench serve` with a certificate of its own: https and web sockets over TLS, without a proxy."""

import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.windows import WAIT_MS
from tests.contract.certificates import self_signed


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The printed address of a console with a certificate."""
    pem = self_signed(tmp_path, datetime.now(UTC) + timedelta(days=1))
    pem.chmod(0o600)
    settings = {"DATA_DIR": tmp_path / "data", "TLS_CERTIFICATE": pem, "TLS_KEY": pem}
    environment = os.environ | {f"AISBENCH_{name}": str(value) for name, value in settings.items()}
    command = [sys.executable, "-m", "aisbench_core.interfaces.cli", "serve", "--port", "0"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    assert process.stdout
    found = re.search(r"https://127\.0\.0\.1:\d+", process.stdout.readline())
    assert found
    yield found[0]
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()


def test_pages_live_over_tls_and_cookies_are_secure(address: str, browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(ignore_https_errors=True, locale="en-US")
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()

    page.goto(f"{address}/leaderboard")
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()

    cookies = {each["name"]: each["secure"] for each in context.cookies()}
    assert cookies["__Host-aisbench_browser"]
    assert all(cookies.values()), cookies
    context.close()

    trusting = ssl.create_default_context(cafile=tmp_path / "own.pem")
    with urllib.request.urlopen(f"{address}/healthz", context=trusting) as answer:
        assert answer.headers["Strict-Transport-Security"]
