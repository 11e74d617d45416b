"""Two consoles behind HAProxy, with one ledger in PostgreSQL: people stay with one, and go on with the other."""

import base64
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from pathlib import Path
from ssl import CERT_NONE, create_default_context

import pytest
from playwright.sync_api import Browser, Page, expect

from aisbench_core.config.settings import Settings
from aisbench_core.model import Role
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER
from tests.browser.conftest import QUICK
from tests.browser.console_process import ConsoleProcess
from tests.browser.prepared_console import PreparedConsole
from tests.browser.windows import WAIT_MS
from tests.contract.certificates import self_signed
from tests.haproxy import PASSWORD, haproxy_command
from tests.ports import free_port
from tests.postgres_server import PASSWORD as DATABASE_PASSWORD
from tests.postgres_server import PostgresServer
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ANN = {"Authorization": "Basic " + base64.b64encode(f"ann:{PASSWORD}".encode()).decode()}
SECONDS = 60.0


class Consoles:
    """Two consoles, and the HAProxy before them."""

    def __init__(self, data_dir: Path, ledger: str, folder: Path) -> None:
        self.port = free_port()
        self.ledger = ledger
        settings = {"public_url": self.url, "identity": "proxy", "trusted_proxies": "127.0.0.1", "ledger": ledger}
        self.data_dir = data_dir
        self.both = [PreparedConsole.start(data_dir, **settings, **QUICK) for _ in range(2)]
        pem = self_signed(folder, datetime.now(UTC) + timedelta(days=1)).read_text("utf-8")
        (folder / "fullchain.pem").write_text(pem, "utf-8")
        command = haproxy_command(folder, self.port, [console.url for console in self.both], f"127.0.0.1:{self.port}")
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self._proxy = subprocess.Popen(command, stdout=log, stderr=log)
        self.wait_for(200)

    @property
    def url(self) -> str:
        """What a browser opens."""
        return f"https://127.0.0.1:{self.port}"

    def ask(self, path: str, **headers: str) -> tuple[int, str, str]:
        """Status, cookie and content of an answer."""
        tls = create_default_context()
        tls.check_hostname, tls.verify_mode = False, CERT_NONE  # a test's own certificate
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=30, context=tls)
        connection.request("GET", path, headers={**ANN, **headers})
        reply = connection.getresponse()
        answer = reply.status, reply.headers.get("Set-Cookie", ""), reply.read().decode()
        connection.close()
        return answer

    def wait_for(self, status: int) -> None:
        """Until a page is answered so."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if self.ask("/runs")[0] == status:
                    return
            except OSError:
                pass  # the proxy does not listen yet
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def of(self, cookie: str) -> ConsoleProcess:
        """The console that a cookie names."""
        found = re.search(r"aisbench_console=console-(\d)", cookie)
        assert found, cookie
        return self.both[int(found[1]) - 1]

    def stop(self) -> None:
        """End all of them."""
        self._proxy.terminate()
        self._proxy.wait(30)
        for console in self.both:
            console.stop()


@pytest.fixture(scope="module")
def started(
    region_folder: Path, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Consoles]:
    """Both consoles over the data folder of a region, with a ledger of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARDED_ALLOW_IPS", "")
        patch.setenv(PASSWORD_VARIABLE, DATABASE_PASSWORD)
        postgres.create("consoles")
        folder = tmp_path_factory.mktemp("haproxy")
        running = Consoles(region_folder, url_of(postgres, "consoles"), folder)
        core_of(running).people.set_role("ann", Role.LEAD, TESTER)
        yield running
        running.stop()
    postgres.drop("consoles")


@pytest.fixture
def consoles(started: Consoles) -> Consoles:
    """Both, whichever a test before has killed."""
    for console in started.both:
        if not console.is_running:
            console.resume()
    return started


def core_of(consoles: Consoles) -> Core:
    """A shell of the team."""
    return open_core(Settings(data_dir=consoles.data_dir, ledger=consoles.ledger))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window of ann, whose browser knows her password."""
    context = browser.new_context(
        http_credentials={"username": "ann", "password": PASSWORD}, ignore_https_errors=True, locale="en-US"
    )
    context.set_default_timeout(WAIT_MS)
    yield context.new_page()
    context.close()


def test_a_browser_stays_with_its_console_and_the_cookie_is_no_script_s(consoles: Consoles) -> None:
    status, cookie, _ = consoles.ask("/runs")
    kept = cookie.partition(";")[0]

    again = [consoles.ask("/runs", Cookie=kept) for _ in range(5)]

    assert status == 200, consoles.log.read_text("utf-8")
    assert {"HttpOnly", "Secure", "SameSite=Lax"} <= {part.strip() for part in cookie.split(";")}
    assert {(answer[0], answer[1]) for answer in again} == {(200, "")}, "no other console was chosen"
    consoles.of(cookie).kill()
    moved = consoles.ask("/runs", Cookie=kept)
    assert moved[0] == 200
    assert consoles.of(moved[1]) is not consoles.of(cookie)


def test_whose_console_is_killed_goes_on_with_the_other_and_stays_signed_in(consoles: Consoles, page: Page) -> None:
    core = core_of(consoles)
    core.ledger.add(a.run("r-shared"))
    page.goto(f"{consoles.url}/runs?show=ended")
    expect(page.locator('tr[data-row="r-shared"]')).to_be_visible()
    expect(page.get_by_text("Signed in: ann, lead")).to_be_visible()
    cookies = {str(each.get("name")): str(each.get("value")) for each in page.context.cookies()}
    first = consoles.of(f"aisbench_console={cookies['aisbench_console']}")

    first.kill()
    core.ledger.add(a.run("r-after-the-kill"))

    # Streamlit's page connects again by itself, to the console that is left.
    expect(page.locator('tr[data-row="r-after-the-kill"]')).to_be_visible()
    expect(page.get_by_text("Signed in: ann, lead")).to_be_visible()
    assert page.url.startswith(f"{consoles.url}/runs")
