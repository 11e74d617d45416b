"""What the campaigns share: the shell of flow tests, and browser sessions."""

from collections.abc import Callable, Iterator

import pytest

from tests.browser.conftest import CHROMIUM
from tests.browser.console_process import ConsoleProcess
from tests.browser.visit import Visit
from tests.browser.windows import Person
from tests.flow.conftest import core, shell

__all__ = ["core", "session", "shell"]


@pytest.fixture
def session() -> Iterator[Callable[[ConsoleProcess], Visit]]:
    """Open a browser session of its own on a console: cookies, storage and socket are shared with nobody."""
    windows = CHROMIUM.windows()
    opened: list[Visit] = []

    def open_one(console: ConsoleProcess) -> Visit:
        opened.append(Visit(windows.lend(Person(1280, dark=False, locale="en-US")), console))
        return opened[-1]

    yield open_one
    for visit in opened:
        visit.leave()
    CHROMIUM.close()
