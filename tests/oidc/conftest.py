"""A console that signs people in at a provider of our own, and a browser in front of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.web.oidc.provider import Provider, Registration
from aisbench_core.interfaces.web.oidc.sign_in import SignInDoor, SignInMiddleware, strength_of
from aisbench_core.wiring import Core, open_core
from tests.oidc.browser import Browser
from tests.oidc.own_provider import CLIENT_ID, SECRET, OwnProvider

Start = Callable[..., Browser]


@pytest.fixture
def provider() -> Iterator[OwnProvider]:
    own = OwnProvider()
    own.claims = {"preferred_username": "ann", "groups": ["perf", "unknown"]}
    yield own
    own.stop()


@pytest.fixture
def settings(tmp_path: Path, provider: OwnProvider) -> Settings:
    return Settings(
        data_dir=tmp_path / "data", identity=Identity.OIDC, oidc_issuer=provider.issuer, oidc_client_id=CLIENT_ID,
        group_roles="perf=engineer",
    )  # fmt: skip


@pytest.fixture
def core(settings: Settings) -> Core:
    return open_core(settings)


@pytest.fixture
def start(core: Core, settings: Settings) -> Start:
    """A browser in front of a console of these settings, which says `in` to whoever is let in."""

    async def console(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("in")(scope, receive, send)

    def started(scheme: str = "http", **changes: Any) -> Browser:
        changed = settings.model_copy(update=changes)
        registration = Registration(
            changed.oidc_issuer, CLIENT_ID, SecretStr(SECRET), changed.oidc_scopes, strength_of(changed)
        )
        door = SignInDoor(changed, Provider(registration), core.sign_ins, core.sign_in_audit)
        return Browser(SignInMiddleware(console, lambda: door), scheme)

    return started


@pytest.fixture
def browser(start: Start) -> Browser:
    return start()
