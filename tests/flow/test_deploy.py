"""The files of deploy/: units as systemd reads them, and proxies that people and programs come through to a console."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from email.parser import Parser
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from filelock import FileLock, Timeout

from aisbench_core.config.settings import Settings, load_settings
from aisbench_core.interfaces.cli.entry import COMMANDS
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.run_paths import RunFolder
from tests import records as a
from tests.browser.console_process import ConsoleProcess
from tests.haproxy import NAME
from tests.ports import free_port
from tests.proxies import ANN, DEPLOY, SOCKET, Door, Proxy, basic, caddy, echo, haproxy, nginx, running
from tests.source_tree import HOME

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MOST_EXPOSED = 30
"""Of 100, by `systemd-analyze security`; a unit without any hardening has 96."""


class Unit(configparser.RawConfigParser):
    """A unit file: keys keep their case, and may come twice."""

    def __init__(self, file: Path) -> None:
        super().__init__(strict=False, delimiters=("=",), comment_prefixes=("#",))
        self.optionxform = str  # type: ignore[assignment,method-assign]  # configparser's way to keep the case
        self.read(file, "utf-8")


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_a_unit_starts_a_command_that_is_there_as_its_own_user(file: Path) -> None:
    service = Unit(file)["Service"]
    program, *words = service["ExecStart"].removeprefix('/bin/sh -c "exec ').split()

    assert program.startswith("/opt/aisbench/.venv/bin/")
    assert (Path(sys.executable).parent / Path(program).name).exists()
    if Path(program).name == "aisbench":
        assert words[0] in COMMANDS
    else:
        assert (HOME / words[1]).exists()
    assert (service["User"], service["Group"]) == (file.stem.replace("-backup", ""), "aisbench")
    assert service["WorkingDirectory"] == "/opt/aisbench"
    assert "/var/lib/aisbench" in service["ReadWritePaths"].split()
    lines = re.findall(r"^Environment=(.*)$", file.read_text("utf-8"), re.M)
    variables = dict(each.split("=", 1) for line in lines for each in line.split())
    known = {f"AISBENCH_{name.upper()}" for name in Settings.model_fields} | {"AISBENCH_SETTINGS"}
    assert {name for name in variables if name.startswith("AISBENCH")} <= known
    assert service["UMask"] == "0007"


@pytest.mark.parametrize("file", sorted((DEPLOY / "systemd").glob("*.service.d/*.conf")), ids=lambda file: file.name)
def test_a_drop_in_belongs_to_a_unit_and_sets_what_there_is(file: Path) -> None:
    service = Unit(file)["Service"]

    assert file.parent.with_suffix("") in UNITS
    assert set(service) <= {"Environment", "EnvironmentFile", "InaccessiblePaths", "ReadOnlyPaths"}
    if "Environment" in service:
        name, value = service["Environment"].split("=")
        assert load_settings({name: value}).console_follows is False


@pytest.mark.slow
@pytest.mark.parametrize(("follows", "leaders"), [("true", 1), ("false", 0)])
def test_a_console_that_may_not_follow_leaves_the_runs_to_the_follower(
    tmp_path: Path, follows: str, leaders: int
) -> None:
    console = ConsoleProcess.start(tmp_path, console_follows=follows)
    try:
        held = 0
        deadline = time.monotonic() + 60
        # It takes the lock as soon as it starts; the one that may not never does, for as many requests.
        for _ in range(200):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{console.url}/healthz").close()
            held += _is_held(tmp_path / "follower.lock")
            if held or time.monotonic() > deadline:
                break
    finally:
        console.stop()

    assert held == leaders


def _is_held(lock: Path) -> bool:
    try:
        FileLock(lock, timeout=0).acquire().lock.release()
    except Timeout:
        return True
    return False


def test_the_nightly_backup_is_written_by_the_command_of_its_unit(tmp_path: Path) -> None:
    command = Unit(DEPLOY / "systemd" / "aisbench-backup.service")["Service"]["ExecStart"]
    program = str(Path(sys.executable).with_name("aisbench"))
    (tmp_path / "backups").mkdir()
    # As systemd unescapes it.
    typed = command.replace("$$", "$").replace("%%", "%").replace("/opt/aisbench/.venv/bin/aisbench", program)
    typed = typed.replace("/var/backups/aisbench", str(tmp_path / "backups"))

    environment = {"PATH": os.environ["PATH"], "AISBENCH_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(shlex.split(typed), env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    (written,) = (tmp_path / "backups").iterdir()
    assert re.fullmatch(r"day-(0[1-9]|[12]\d|3[01])\.tar\.gz", written.name)


def test_systemd_accepts_the_units_and_finds_them_little_exposed(tmp_path: Path) -> None:
    """Where systemd is; the command is replaced, because its folder is not on this machine."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return  # what the units say is tested above
    units = DEPLOY / "systemd"
    for file in (path for path in units.rglob("*") if path.is_file()):  # with the drop-ins, which systemd reads along
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", file.read_text("utf-8"), flags=re.M)
        (tmp_path / file.relative_to(units)).parent.mkdir(exist_ok=True)
        (tmp_path / file.relative_to(units)).write_text(text, "utf-8")

    named = [path for path in tmp_path.iterdir() if path.is_file()]
    verified = subprocess.run([analyze, "verify", *named], capture_output=True, text=True, check=False)

    assert (verified.returncode, [line for line in verified.stderr.splitlines() if str(tmp_path) in line]) == (0, [])
    for file in tmp_path.glob("*.service"):
        options = ["--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager"]
        rated = subprocess.run([analyze, "security", *options, file], capture_output=True, text=True, check=False)
        assert rated.returncode == 0, rated.stdout[-300:]


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console that knows its address behind the proxy."""
    settings = {"public_url": f"https://{NAME}", "identity": "proxy", "trusted_proxies": "127.0.0.1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARDED_ALLOW_IPS", "")  # as the unit sets it
        console = ConsoleProcess.start(tmp_path_factory.mktemp("behind"), **settings)
    yield console
    console.stop()


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy])
def test_people_come_with_a_password_and_web_sockets_and_programs_with_a_token(
    proxy: Proxy, console: ConsoleProcess, tmp_path: Path
) -> None:
    with running(proxy, tmp_path, console.url) as port:
        door = Door(port)

        stranger = door("/", {})
        page = door("/leaderboard", ANN)
        live = door("/_stcore/stream", ANN | SOCKET | {"Origin": f"https://{NAME}"})
        foreign = door("/_stcore/stream", ANN | SOCKET | {"Origin": "https://evil.example.com"})
        unknown = door("/api/v1/runs", {"Authorization": "Bearer nonsense"})
        health = door("/healthz", {})

    assert stranger[0] == 401
    assert (page[0], b"<title>" in page[2]) == (200, True)
    assert page[1]["strict-transport-security"] == "max-age=31536000"
    assert page[1]["x-frame-options"] == "DENY"
    assert live[0] == 101
    assert foreign[0] == 403
    assert (unknown[0], b"token" in unknown[2]) == (401, True), "the console's answer, not the proxy's"
    assert health[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy])
def test_the_proxy_says_who_somebody_is_whatever_a_browser_sends(proxy: Proxy, tmp_path: Path) -> None:
    forged = {"X-Forwarded-User": "boss", "X-Forwarded-Groups": "admins"}
    with echo() as backend, running(proxy, tmp_path, backend) as port:
        door = Door(port)

        page = Parser().parsestr(door("/runs", ANN | forged)[2].decode())
        program = Parser().parsestr(door("/api/v1/runs", forged | {"Authorization": "Bearer token"})[2].decode())

    assert page.get_all("X-Forwarded-User") == ["ann"]
    assert {page["X-Forwarded-Groups"], program["X-Forwarded-Groups"], program["X-Forwarded-User"]} <= {None, ""}
    assert (page["Authorization"] or "", program["Authorization"]) == ("", "Bearer token")
    assert page["Host"] == NAME


RUN = "r20260101-000000-abcdef"
LOG = f"run-logs/{RUN}/0"
OPEN = ("api", "api/v1", "metrics", "healthz", "readyz")
"""Where no password is asked for, and what is around it."""


ODD = r"""
/{open}/{closed}         /{open}x/{closed}           /{open}./{closed}         /{open};/{closed}      /{UPPER}/{closed}
//{open}//{closed}       /./{open}/{closed}          /{open}/../{closed}       /{open}/../../{closed}
/{open};/../{closed}     /{open}/%2e%2e/{closed}     /{open}/%2E%2E/%2e./{closed}  /{open}%2f..%2f{closed}
/{open}/..;/{closed}     /{open}/.../{closed}        /{open}%0a/{closed}       /{open}\..\{closed}
/{open}%3f/{closed}   /{open}%23/../{closed}   /{open}%00/{closed}         /{closed}/../../../{open}/x
/{closed}/%2e%2e/%2e%2e/%2e%2e/{open}                /{closed};/../{open}/x
/{closed}   //{closed}   /{closed}%0a   /x/../{closed}   /%61pi/v1/{closed}   /api%2Fv1%2F{closed}
"""
"""Addresses of something closed that look as if they lay at an open prefix: to a proxy, or to the console."""

FORGED = {"X-Forwarded-User": "boss", "X-Forwarded-Groups": "admins"}
NOBODY, WRONG, UNKNOWN = FORGED, FORGED | basic("ann", "wrong"), FORGED | basic("nosuch", "WRONG")


def knocks(closed: str, everybody: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """Paths, each once, with headers of people who have no right to it: of one person for each path, or of everybody.

    As there is an odd number of open prefixes, either person knocks at each prefix and with each way to write it."""
    texts = (each.format(open=name, UPPER=name.upper(), closed=closed) for each in ODD.split() for name in OPEN)
    for number, path in enumerate(dict.fromkeys(texts)):
        for person in (NOBODY, WRONG) if everybody else (NOBODY, WRONG)[number % 2 :][:1]:
            yield path, person
    for name in ("api", "api/v1"):  # few, as Caddy takes its time with names that it does not know
        yield f"/{name}/{closed}", UNKNOWN


REFUSED = (400, 401, 403, 404)


EVERYBODY = pytest.mark.parametrize("everybody", [False, pytest.param(True, marks=pytest.mark.exhaustive)])


@pytest.mark.slow
@EVERYBODY
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy])
def test_no_path_carries_a_name_that_was_not_verified(proxy: Proxy, tmp_path: Path, everybody: bool) -> None:
    with echo() as backend, running(proxy, tmp_path, backend) as port:
        door = Door(port)
        answers = [(path, door(path, headers)) for path, headers in knocks(LOG, everybody)]
        known = Parser().parsestr(door(f"/{LOG}", ANN)[2].decode())

    passed = [(path, Parser().parsestr(content.decode())) for path, (status, _, content) in answers if status == 200]
    assert [path for path, sent in passed if sent["X-Forwarded-User"] or sent["X-Forwarded-Groups"]] == []
    assert {status for _, (status, _, _) in answers} <= {200, *REFUSED}
    assert f"/api/v1/{LOG}" in dict(passed)
    assert known["X-Forwarded-User"] == "ann"


@pytest.fixture(scope="module")
def console_with_log(console: ConsoleProcess) -> ConsoleProcess:
    """The console, with a run that has a log."""
    Ledger(console.data_dir / "ledger.sqlite3").add(a.run(RUN))
    log = RunFolder(console.data_dir / "runs" / RUN).log(0)
    log.parent.mkdir(parents=True)
    log.write_text("for people only", "utf-8")
    return console


@pytest.mark.slow
@EVERYBODY
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy])
def test_nobody_reads_anything_around_what_is_open_to_programs(
    proxy: Proxy, console_with_log: ConsoleProcess, tmp_path: Path, everybody: bool
) -> None:
    with running(proxy, tmp_path, console_with_log.url) as port:
        door = Door(port)

        own = door(f"/{LOG}", ANN)
        files = [(path, door(path, headers)[0]) for path, headers in knocks(LOG, everybody)]
        page = SOCKET | {"Origin": f"https://{NAME}"}
        live = [(path, door(path, headers | page)[0]) for path, headers in knocks("_stcore/stream", everybody)]

    assert (own[0], own[2]) == (200, b"for people only")
    assert [(path, status) for path, status in files + live if status not in REFUSED] == []


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy])
def test_pages_are_redirected_to_https_and_programs_are_refused_without_it(proxy: Proxy, tmp_path: Path) -> None:
    plain = free_port()
    with echo() as backend, running(partial(proxy, plain=plain), tmp_path, backend):
        page = _without_tls(plain, "/runs")
        programs = [_without_tls(plain, path)[0] for path in ("/api/v1/runs", "/metrics")]

    assert page == (301, f"https://{NAME}/runs")
    assert programs == [403, 403]


def _without_tls(port: int, path: str) -> tuple[int, str | None]:
    """Status and target of the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": NAME, "Authorization": "Bearer token"})
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status, reply.getheader("Location")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a server as another account")
@pytest.mark.parametrize(("proxy", "account"), [(nginx, "www-data"), (caddy, "caddy")])
def test_a_proxy_opens_its_secrets_as_its_own_account(proxy: Proxy, account: str) -> None:
    """With the group and the modes that docs/deploy.md gives them, in a folder that is open as /etc/aisbench is."""

    def as_packaged(folder: Path, port: int, backend: str) -> list[str]:
        command = proxy(folder, port, backend)
        for file in (folder / name for name in ("htpasswd", "caddy-people", "fullchain.pem", "key.pem")):
            if file.exists():
                shutil.chown(file, "root", "www-data")
                file.chmod(0o640)
        config = folder / "nginx.conf"
        if config.exists():
            config.write_text(config.read_text("utf-8").replace("user root;", f"user {account};"), "utf-8")
            return command  # root starts it; its workers are the account
        return ["setpriv", f"--reuid={account}", f"--regid={account}", "--init-groups", *command]

    with TemporaryDirectory() as name, echo() as backend:
        folder = Path(name)
        folder.chmod(0o755)
        with running(as_packaged, folder, backend) as port:
            assert Door(port)("/", {})[0] == 401
            assert Door(port)("/runs", ANN)[0] == 200


def test_the_image_is_rootless_with_a_read_only_root_and_a_health_check() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    last = text[text.rindex("FROM ") :]

    assert re.search(r"^USER 10001:10001$", last, re.M)
    assert re.search(r"^VOLUME /var/lib/aisbench$", last, re.M)
    assert "--require-hashes" in text
    probe = re.search(r'"-c", "(import urllib.*)"\]', last)
    assert probe
    assert "/healthz" in probe[1]
    compile(probe[1], "Containerfile", "exec")
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M) for name in line.split()[:-1]}
    assert all((HOME / name).exists() for name in copied)
    assert "AISBENCH_DATA_DIR=/var/lib/aisbench" in last
    assert '"127.0.0.1"' in last.rpartition("CMD")[2], "other machines come through the proxy"


def test_what_the_image_leaves_out_of_its_context_holds_data_and_keys() -> None:
    excluded = (HOME / ".containerignore").read_text("utf-8").split()

    assert {"data", ".git", ".venv", "aisbench.yaml", ".streamlit/secrets.toml"} <= set(excluded)


def test_what_is_installed_has_neither_history_nor_tests(tmp_path: Path) -> None:
    names = ["app.py", "aisbench_core", "tests", ".ci"]
    git = ["git", "-C", str(HOME), "archive", "--worktree-attributes", "HEAD", *names]
    archive = subprocess.run(git, capture_output=True, check=True).stdout

    subprocess.run(["tar", "--extract", "--directory", str(tmp_path)], input=archive, check=True)

    assert {path.name for path in tmp_path.iterdir()} == {"app.py", "aisbench_core"}
    assert "archive VERSION | tar --extract --directory /opt/aisbench" in (HOME / "docs" / "deploy.md").read_text(
        "utf-8"
    )


def test_the_page_names_every_file_and_its_commands_are_those_that_are_tested() -> None:
    page = (HOME / "docs" / "deploy.md").read_text("utf-8")

    files = {path.relative_to(HOME).as_posix() for path in DEPLOY.rglob("*") if path.is_file()}

    assert {name for name in files if f"(../{name})" not in page} == set()
