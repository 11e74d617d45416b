"""A ledger in PostgreSQL in the life of a server: what checks, backups and programs say of it, and the way back."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from aisbench_core.base.clock import utc_now
from aisbench_core.config.settings import Settings
from aisbench_core.maintenance.doctor.diagnosis import State
from aisbench_core.model import Level, RunState
from aisbench_core.store.ledger.database.address import ledger_address
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER, named
from tests.flow.api_process import ApiProcess
from tests.flow.command_line import CommandLine
from tests.flow.following import PERSON, SPEC
from tests.postgres_server import PASSWORD, PostgresServer
from tests.processes import AisbenchProcess
from tests.team_ledger import PASSWORD_VARIABLE, url_of

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def url(postgres: PostgresServer, shell: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The ledger of a shell and of this process."""
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    postgres.create("team")
    url = url_of(postgres, "team")
    shell.environment |= {PASSWORD_VARIABLE: PASSWORD, "AISBENCH_LEDGER": url}
    yield url
    for database in ("team", "restored"):
        postgres.drop(database)


def answer_of(address: str, path: str = "/readyz") -> tuple[int, str]:
    """What anybody is answered."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", path, headers={"Authorization": "Bearer aisb_" + "0" * 12 + "_" + "x" * 43})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def test_a_server_is_ready_while_its_ledger_answers(shell: CommandLine, url: str, postgres: PostgresServer) -> None:
    server = ApiProcess(shell.data_dir, ledger=url, ledger_password=PASSWORD)
    ready, _ = answer_of(server.url)

    postgres.kill()
    away = [answer_of(server.url, path) for path in ("/readyz", "/api/v1/runs", "/metrics")]
    postgres.resume()

    assert (ready, {status for status, _ in away}, answer_of(server.url)[0]) == (200, {503}, 200)
    assert [text for _, text in away if "the console cannot read its ledger" not in text or "127.0.0.1" in text] == []
    assert "Traceback" not in server.stop()


def test_the_doctor_says_whether_the_ledger_answers(shell: CommandLine, url: str) -> None:
    answering = {each["check"]: each for each in shell.answer("doctor")}["ledger"]
    shell.environment["AISBENCH_LEDGER"] = url.replace("/team", "/nowhere")
    refused = shell.type("doctor")

    assert answering["state"] == "ok"
    assert 'database "nowhere" does not exist' in refused.output
    assert PASSWORD not in refused.output


@pytest.mark.usefixtures("url")
def test_a_backup_says_that_the_ledger_is_not_in_it(shell: CommandLine, tmp_path: Path) -> None:
    (shell.data_dir / "ledger.sqlite3").write_bytes(b"of the time before")
    assert shell.type("people", "set-role", "ann", "lead").exit_code == 0

    assert shell.type("backup", str(tmp_path / "backup.tar.gz")).exit_code == 0

    shell.environment["AISBENCH_DATA_DIR"] = str(tmp_path / "restored")
    restored = shell.type("restore", str(tmp_path / "backup.tar.gz"))
    assert restored.exit_code == 0, restored.output
    assert "the ledger is the team's" in restored.stderr
    assert not (tmp_path / "restored" / "ledger.sqlite3").exists()
    assert "ann" in shell.type("people", "list").stdout


def test_a_dump_that_is_brought_back_is_whole(shell: CommandLine, url: str, postgres: PostgresServer) -> None:
    core = open_core(Settings(data_dir=shell.data_dir, profile="lab", ledger=url))
    core.ledger.add(a.run("r-1"))
    core.annotations.tag("r-1", ["kept"], [], TESTER)
    dump = postgres.dump("team")
    postgres.create("restored")

    postgres.restore("restored", dump)

    again = url_of(postgres, "restored")
    restored = open_core(Settings(data_dir=shell.data_dir, profile="lab", ledger=again))
    assert restored.ledger.get("r-1") == core.ledger.get("r-1")
    assert restored.audit.verify(TESTER) == core.audit.verify(TESTER)
    restored.annotations.tag("r-1", ["more"], [], TESTER)
    assert restored.audit.verify(TESTER).entries == core.audit.verify(TESTER).entries + 1


def test_pages_of_many_threads_take_few_connections(url: str, postgres: PostgresServer) -> None:
    ledger = Ledger(ledger_address(url, lambda: PASSWORD))
    for _ in range(200):
        ledger.count()

    deadline = time.monotonic() + 10
    query = "select count(*) from pg_stat_activity where datname = 'team'"
    while postgres.sql(query) != ["1"]:
        assert time.monotonic() < deadline, postgres.sql(query)


# --- PostgreSQL is away when they start -------------------------------------------------------------------------


@pytest.fixture
def away(postgres: PostgresServer, url: str) -> Iterator[str]:
    """The ledger's address, while its PostgreSQL does not answer; a test may resume it."""
    postgres.kill()
    yield url
    if not postgres.is_running:
        postgres.resume()


@pytest.fixture
def started(shell: CommandLine) -> Iterator[CommandLine]:
    yield shell
    shell.end()


def next_line(process: AisbenchProcess) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def wait_until_followed(url: str) -> None:
    deadline = time.monotonic() + 60
    ledger = Ledger(ledger_address(url, lambda: PASSWORD))
    while ledger.last_beat() is None:
        assert time.monotonic() < deadline
    assert ledger.last_beat()


def test_a_follower_waits_for_its_ledger_and_goes_on(started: CommandLine, away: str, postgres: PostgresServer) -> None:
    follower = started.start("follow", "--quiet")
    waiting = next_line(follower)

    postgres.resume()

    assert waiting.startswith("waiting for the ledger: ")
    assert "Connection refused" in waiting
    assert next_line(follower) == "PostgreSQL answers; continuing\n"
    wait_until_followed(away)
    follower.terminate()
    assert follower.wait(60) == 0


def test_a_server_waits_for_its_ledger_and_goes_on(started: CommandLine, away: str, postgres: PostgresServer) -> None:
    server = started.start("serve", "--port", "0")
    assert server.stdout is not None
    address = server.stdout.readline().removeprefix("AISBench console: ").strip()
    refused = answer_of(address)[0]

    postgres.resume()

    assert (refused, answer_of(address)[0]) == (503, 200)
    wait_until_followed(away)
    server.terminate()
    assert "waiting for the ledger: " in server.communicate(timeout=60)[1]
    assert server.returncode == 0


def test_a_wrong_password_is_said_and_can_be_corrected_while_a_follower_waits(started: CommandLine, url: str) -> None:
    del started.environment[PASSWORD_VARIABLE]
    keys = started.data_dir / "credentials.yaml"
    keys.write_text("ledger: {password: wrong}", "utf-8")
    keys.chmod(0o600)
    started.environment |= {"AISBENCH_LEDGER_PASSWORD": ""}
    follower = started.start("follow", "--quiet")
    waiting = next_line(follower)

    keys.write_text(yaml.safe_dump({"ledger": {"password": PASSWORD}}), "utf-8")

    assert "password authentication failed" in waiting
    assert next_line(follower) == "PostgreSQL answers; continuing\n"
    wait_until_followed(url)


def test_an_address_that_no_waiting_makes_right_ends_the_follower(started: CommandLine) -> None:
    started.environment["AISBENCH_LEDGER"] = "postgresql://bench@127.0.0.1:no/bench"

    follower = started.start("follow")

    stderr = follower.communicate(timeout=60)[1]
    assert follower.returncode == 2
    assert 'invalid integer value "no" for connection option "port"' in stderr
    assert "correct the setting `ledger`" in stderr


# --- a machine whose clock is wrong -----------------------------------------------------------------------------


@pytest.fixture
def slow(shell: CommandLine, url: str) -> Core:
    """A machine of the team, whose clock is 8 minutes slow."""
    settings = Settings(data_dir=shell.data_dir, profile="lab", ledger=url, poll_seconds=0.05, tick_seconds=0.02)
    return open_core(settings, machine=lambda: utc_now() - timedelta(minutes=8))


def clocks_in(core: Core) -> list[str]:
    """What Health says of clocks."""
    return [str(service.sentence) for service in core.health.check().services if service.name == "clock"]


def test_a_follower_whose_clock_is_slow_begins_at_once_and_measures_by_the_ledgers(
    shell: CommandLine, slow: Core
) -> None:
    console = open_core(Settings(data_dir=shell.data_dir, profile="lab", ledger=slow.settings.ledger))
    run = console.runs.launch(SPEC, "lab", named(PERSON))

    with slow.following.in_background():
        deadline = time.monotonic() + 60
        while console.ledger.get(run.run_id).state is not RunState.RUNNING:
            assert time.monotonic() < deadline, console.ledger.get(run.run_id)
        seen = clocks_in(console)

    submitted = console.ledger.get(run.run_id).submitted_at
    assert submitted
    assert timedelta() < submitted - run.created_at < timedelta(seconds=60)
    (clock,) = seen
    assert re.fullmatch(r"the clock of \S+@\S+ \(process \d+\) is 8 min behind that of the ledger \(set it .*", clock)
    assert [
        event.level for event in console.ledger.events(run.run_id) if "behind that of the ledger" in event.message
    ] == [Level.WARNING]


def test_a_console_whose_clock_is_slow_says_so(slow: Core) -> None:
    slow.ledger.count()

    by_region, by_ledger = clocks_in(slow)
    found = {each.check: each for each in slow.doctor.examine()}

    assert by_ledger.startswith("the clock of this console is 8 min behind that of the ledger")
    assert re.match(r"the clock of this console is (8 min|7 min 5\d s) behind that of region ", by_region)
    assert (found["clock.ledger"].state, found["ledger"].state) == (State.WARN, State.OK)
    assert abs(slow.clock() - utc_now()) < timedelta(seconds=5)


def test_a_clock_that_is_right_is_not_mentioned(shell: CommandLine, url: str) -> None:
    core = open_core(Settings(data_dir=shell.data_dir, profile="lab", ledger=url))

    assert clocks_in(core) == []
    assert {each.check: each.state for each in core.doctor.examine()}["clock.ledger"] is State.OK
