"""OpenID Connect providers that others wrote, on this machine, and what a person does on their pages."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from playwright.sync_api import Page

from aisbench_sandbox.engine.node import launcher
from tests.ports import free_port
from tests.source_tree import HOME

CLIENT_ID, SECRET = "aisbench", "canary-of-the-client-secret"
READY_SECONDS = 60.0
STYLES = re.compile(r"https://(?!127\.0\.0\.1)")
"""Where their pages look for fonts and styles: nothing is fetched from there."""

Claims = Mapping[str, object]
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class OidcProvider:
    """One provider: people by subject, with what it says of them. It keeps its port from `start` to `start`."""

    name: ClassVar[str]
    refuses_with_state: ClassVar[bool] = True

    def __init__(self, people: Mapping[str, Claims]) -> None:
        self.port = free_port()
        self._people = people
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def issuer(self) -> str:
        """What it calls itself."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, console: str) -> None:
        """Answer; the console at this address is its only client."""
        # Should the tests be killed, it ends with them.
        command = [sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), *self._command(console)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                with _DIRECT.open(f"{self.issuer}/.well-known/openid-configuration", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)  # a process is starting; there is nothing to be told by
        raise AssertionError(f"{self.name} did not start: is it installed? (make oidc)")

    def stop(self) -> None:
        """Be down."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait()

    def sign_in(self, page: Page, subject: str, *, again: bool = False) -> None:
        """On its pages, be somebody, and agree; `again`: somebody who has agreed before in this browser."""
        raise NotImplementedError

    def deny(self, page: Page) -> None:
        """On its first page, refuse."""
        raise NotImplementedError

    def _command(self, console: str) -> Sequence[str | Path]:
        raise NotImplementedError


class PythonProvider(OidcProvider):
    """oidc-provider-mock: any password or none, any client secret, no PKCE, claims in the ID token."""

    name = "oidc-provider-mock"
    refuses_with_state = False  # as the standard asks; so nobody knows which sign-in it was

    def _command(self, console: str) -> Sequence[str | Path]:  # noqa: ARG002  # it takes every client
        people = [("--user-claims", json.dumps({"sub": each, **claims})) for each, claims in self._people.items()]
        program = HOME / ".oidc" / "mock" / "bin" / self.name
        return [program, "--port", str(self.port), *(word for option in people for word in option)]

    def sign_in(self, page: Page, subject: str, *, again: bool = False) -> None:  # noqa: ARG002  # it forgets
        """One click."""
        page.get_by_role("button", name=subject, exact=True).click()

    def deny(self, page: Page) -> None:
        """One click, too."""
        page.get_by_role("button", name="Deny").click()


class NodeProvider(OidcProvider):
    """oidc-provider: checks the client secret, wants PKCE, keeps sessions, and gives claims at another endpoint."""

    name = "oidc-provider"

    def _command(self, console: str) -> Sequence[str | Path]:
        library = HOME / ".oidc" / "node" / "node_modules" / self.name / "lib" / "index.js"
        words = (str(self.port), f"{console}/oauth2callback", CLIENT_ID, SECRET, json.dumps(self._people))
        return [shutil.which("node") or "node", Path(__file__).with_name("provider.mjs"), library, *words]

    def sign_in(self, page: Page, subject: str, *, again: bool = False) -> None:
        """Name and password; then agree."""
        page.get_by_placeholder("Enter any login").fill(subject)
        page.get_by_placeholder("and password").fill("anything")
        page.get_by_role("button", name="Sign-in").click()
        if not again:
            page.get_by_role("button", name="Continue").click()

    def deny(self, page: Page) -> None:
        """Instead of a password."""
        page.get_by_role("link", name="Cancel").click()
