"""docs/deploy.md on a Debian that has only what it says: install, units, backup, restore, upgrade, keys."""

import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.reliability.debian import Debian, checked, is_possible
from tests.reliability.outcomes import campaign
from tests.source_tree import HOME

pytestmark = pytest.mark.skipif(not is_possible(), reason="a Debian of its own needs Linux, root and debootstrap")

PAGE = (HOME / "docs" / "deploy.md").read_text("utf-8")
AS_AISBENCH = (
    "cd /opt/aisbench && sudo -u aisbench AISBENCH_DATA_DIR=/var/lib/aisbench"
    " AISBENCH_SETTINGS=/etc/aisbench/aisbench.yaml .venv/bin/"
)
FROM_THE_ARCHIVE = (
    "export PIP_NO_INDEX=1 PIP_FIND_LINKS=/opt/wheels\ntar --extract --file /opt/source/aisbench.tar --directory /opt"
)
MAIN_PROCESS = "systemctl show --property MainPID --value aisbench-"


def blocks(heading: str, language: str = "sh") -> list[str]:
    """The code of a section."""
    [section] = re.findall(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)


def install() -> list[str]:
    """The commands of Install, with an archive in the place of a repository."""
    commands = blocks("Install")[0].splitlines()
    start = next(number for number, line in enumerate(commands) if line.startswith("git clone"))
    return [*commands[:start], FROM_THE_ARCHIVE, *commands[start + 2 :]]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Debian]:
    """A Debian with the wheels and the archive of "Without a connection to a package index"."""
    machine = Debian(tmp_path / "debian")
    wheels, source = machine.bring("wheels"), machine.bring("source")
    locks = [word for name in ("build", "run") for word in ("--requirement", f"requirements/{name}.lock")]
    checked(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", str(wheels), *locks)
    checked("git", "archive", "--prefix", "aisbench/", "--output", str(source / "aisbench.tar"), "HEAD")
    machine.boot()
    yield machine
    machine.stop()


def wait_until_ready(machine: Debian) -> None:
    """Until the units are active, and the console can read its ledger."""
    script = "systemctl is-active aisbench-follower aisbench-console && curl -sf http://127.0.0.1:8501/readyz"
    until = time.monotonic() + 60
    while machine.attempt(script).returncode:
        assert time.monotonic() < until, machine.attempt("journalctl -u 'aisbench-*' --no-pager | tail -30").stdout
        time.sleep(0.5)


def aisbench(machine: Debian, *words: str) -> str:
    """A command of an admin in a shell there, as the page has it."""
    return machine.run(f"{AS_AISBENCH}aisbench {' '.join(words)}")


def begin_region(machine: Debian) -> None:
    """A sandbox, as a service of its own; profile and keys are copied as an administrator would."""
    machine.run("systemd-run --unit sandbox /opt/aisbench/.venv/bin/aisbench-sandbox --data /var/lib/region")
    until = time.monotonic() + 60
    while machine.attempt("test -e /var/lib/region/profile.yaml").returncode:
        assert time.monotonic() < until
        time.sleep(0.5)
    machine.run("""
        install -d -m 2770 -g aisbench /var/lib/aisbench/profiles
        install -m 0660 -g aisbench /var/lib/region/credentials.yaml /var/lib/aisbench/region-keys.yaml
        sed s:/var/lib/region/credentials:/var/lib/aisbench/region-keys: /var/lib/region/profile.yaml > /tmp/lab.yaml
        install -m 0660 -g aisbench /tmp/lab.yaml /var/lib/aisbench/profiles/lab.yaml
    """)


def test_a_server_is_installed_run_backed_up_restored_and_upgraded_as_the_page_says(machine: Debian) -> None:
    with campaign("docs/deploy.md on a Debian with systemd and no network", __file__) as row:
        machine.run("\n".join(install()))
        settings = blocks("Install", "yaml")[0] + "profile: lab\n"
        machine.run(f"cat > /etc/aisbench/aisbench.yaml <<'end'\n{settings}end\n")
        machine.run(
            "cp /opt/aisbench/deploy/systemd/*.service /opt/aisbench/deploy/systemd/*.timer /etc/systemd/system/"
        )
        machine.run(blocks("Install")[1])
        wait_until_ready(machine)
        begin_region(machine)
        run_id = aisbench(machine, "run", "quickstart_digits", "--wait").split()[0]

        killed = aisbench(machine, "run", "quickstart_digits").split()[0]
        machine.run(f"kill -9 $({MAIN_PROCESS}follower)")
        wait_until_ready(machine)
        assert "completed" in wait_for(machine, killed)

        machine.run("systemctl start aisbench-backup")
        today = f"day-{datetime.now(UTC):%d}.tar.gz"
        machine.run("systemctl stop sandbox")
        machine.run(re.sub(r"day-\d+\.tar\.gz", today, blocks("Backup and restore")[0]))
        wait_until_ready(machine)
        assert {run_id, killed} <= set(aisbench(machine, "runs").split())

        upgrade = blocks("Upgrade and rollback")[0].splitlines()
        place = next(number for number, line in enumerate(upgrade) if "fetch --tags" in line)
        again = install()[install().index(FROM_THE_ARCHIVE) :]
        machine.run("\n".join([*upgrade[:place], *again, *upgrade[place + 1 :]]))
        wait_until_ready(machine)
        assert {run_id, killed} <= set(aisbench(machine, "runs").split())

        require_two_accounts_and_one_group(machine)
        require_keys_for_the_follower_alone(machine)
        row.repetitions = "1"
        row.outcome = (
            "installed, started, a run followed, the follower killed, backed up, restored, upgraded; with the drop-ins "
            "the console has no keys"
        )


def require_two_accounts_and_one_group(machine: Debian) -> None:
    """Console and follower have an account each; whatever they write, both can change, and nobody else can read."""
    data = "find /var/lib/aisbench -path '*/uploads/*' -prune -o"  # of one process
    for name in ("console", "follower"):
        assert machine.run(f"ps -o user:32= -p $({MAIN_PROCESS}{name})").strip() == f"aisbench-{name}"
        assert machine.run(f"{data} -user aisbench-{name} -print")
    assert not machine.run(f"{data} ! -type l ! -perm -g=rw -print -o ! -type l -perm /o=rwx -print")
    assert "is private to the group aisbench" in machine.attempt(f"{AS_AISBENCH}aisbench doctor").stdout


def wait_for(machine: Debian, run_id: str) -> str:
    """The run as it is shown when it has ended."""
    until = time.monotonic() + 60
    while not re.search(r"completed|failed|stopped", shown := aisbench(machine, "runs", "|", "grep", run_id)):
        assert time.monotonic() < until, shown
        time.sleep(0.5)
    return shown


def require_keys_for_the_follower_alone(machine: Debian) -> None:
    """The two drop-ins: keys are in the follower's environment, and the console can open no file with keys."""
    machine.run("""
        install -m 0600 /dev/null /etc/aisbench/keys.env
        printf 'AISBENCH_AK=CANARY\\nAISBENCH_SK=CANARY\\n' > /etc/aisbench/keys.env
        install -m 0660 -o aisbench -g aisbench /dev/null /var/lib/aisbench/credentials.yaml
        cp -r /opt/aisbench/deploy/systemd/*.d /etc/systemd/system/
        systemctl daemon-reload
        systemctl restart aisbench-follower aisbench-console
    """)
    wait_until_ready(machine)
    inside = "nsenter --mount --target $({main}{unit}) sudo -u aisbench-{unit} cat /var/lib/aisbench/credentials.yaml"
    assert machine.attempt(f"grep -q CANARY /proc/$({MAIN_PROCESS}follower)/environ").returncode == 0
    assert machine.attempt(f"grep -q CANARY /proc/$({MAIN_PROCESS}console)/environ").returncode == 1
    others = f"sudo -u aisbench-console cat /proc/$({MAIN_PROCESS}follower)/environ"
    assert "Permission denied" in machine.attempt(others).stderr
    assert machine.attempt(inside.format(main=MAIN_PROCESS, unit="follower")).returncode == 0
    assert "Permission denied" in machine.attempt(inside.format(main=MAIN_PROCESS, unit="console")).stderr
