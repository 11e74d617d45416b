"""docs/deploy.md on a Debian that has only what it says: install, units, backup, restore, upgrade, keys, proxy."""

import re
import subprocess
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
MAIN_PROCESS = "systemctl show --property MainPID --value aisbench-"


def blocks(heading: str, language: str = "sh") -> list[str]:
    """The code of a section."""
    [section] = re.findall(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)


def install() -> tuple[str, str]:
    """The commands of Install before and after those that the section without a package index replaces."""
    accounts, rest = blocks("Install")[0].split("git clone")
    archive = "cd /opt/source\n" + blocks("Without a connection to a package index")[1]
    return accounts, archive + rest.partition("cd /opt/aisbench\n")[2]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Debian]:
    """A Debian with the wheels and the archive of "Without a connection to a package index"."""
    machine = Debian(tmp_path / "debian")
    wheels, source = machine.bring("wheels"), machine.bring("source")
    locks = [word for name in ("build", "run") for word in ("--requirement", f"requirements/{name}.lock")]
    checked(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--dest", str(wheels), *locks)
    checked("git", "archive", "--prefix", "aisbench/", "--output", str(source / "aisbench.tar.gz"), "HEAD")
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
        accounts, program = install()
        machine.run(accounts + program)
        settings = blocks("Install", "yaml")[0] + "profile: lab\n"
        machine.run(f"cat > /etc/aisbench/aisbench.yaml <<'end'\n{settings}end\n")
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

        stop, start = re.split(r"git -C .*fetch --tags.*\n", blocks("Upgrade and rollback")[0])
        machine.run(stop + "cp -a /opt/aisbench.before /opt/aisbench; touch /opt/aisbench/second\n" + start)
        machine.run(stop + program + start)
        wait_until_ready(machine)
        assert {run_id, killed} <= set(aisbench(machine, "runs").split())
        machine.run("systemctl stop aisbench-console aisbench-follower\n" + rollback())
        machine.run("test -e /opt/aisbench/second\nsystemctl start aisbench-follower aisbench-console")
        wait_until_ready(machine)

        require_two_accounts_and_one_group(machine)
        require_keys_for_the_follower_alone(machine)
        require_secrets_of_the_proxy_for_its_account(machine)
        require_the_address_of_the_drop_in(machine)
        row.repetitions = "1"
        row.outcome = (
            "installed, started, a run followed, the follower killed, backed up, restored, upgraded twice, rolled "
            "back; with the drop-ins the console has no keys and cannot change profiles"
        )


def rollback() -> str:
    """The command of the sentence about a rollback."""
    commands: list[str] = re.findall(r"`(rm -rf /opt/aisbench && [^`]+)`", PAGE)
    [command] = commands
    return command


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
    """The two drop-ins: keys are in the follower's environment, and the console neither reads nor redirects them."""
    begin_region(machine)
    machine.run("""
        cd /var/lib/aisbench
        install -m 0600 /dev/null /etc/aisbench/keys.env
        sed 's/^access_key: */AISBENCH_AK=/; s/^secret_key: */AISBENCH_SK=/' region-keys.yaml > /etc/aisbench/keys.env
        rm region-keys.yaml && sed -i /credentials_file/d profiles/lab.yaml
        install -m 0660 -o aisbench -g aisbench /dev/null credentials.yaml
    """)
    install_drop_ins, with_keys = blocks("Keys for the follower only")
    machine.run(install_drop_ins)
    wait_until_ready(machine)
    key = "$(sed -n s/AISBENCH_SK=//p /etc/aisbench/keys.env)"
    assert machine.attempt(f"grep -qF -e {key} /proc/$({MAIN_PROCESS}follower)/environ").returncode == 0
    assert machine.attempt(f"grep -qF -e {key} /proc/$({MAIN_PROCESS}console)/environ").returncode == 1
    others = f"sudo -u aisbench-console cat /proc/$({MAIN_PROCESS}follower)/environ"
    assert "Permission denied" in machine.attempt(others).stderr
    assert within(machine, "follower", "cat credentials.yaml").returncode == 0
    assert "Permission denied" in within(machine, "console", "cat credentials.yaml").stderr
    for change in ("tee profiles/lab.yaml", "touch profiles/new.yaml", "mv profiles elsewhere"):
        assert re.search("Read-only file system|busy", within(machine, "console", change).stderr), change
    assert within(machine, "follower", "touch profiles/lab.yaml").returncode == 0

    assert "no keys were found" in machine.attempt(f"{AS_AISBENCH}aisbench region flavors").stderr
    assert "sandbox.cpu" in machine.run(with_keys)
    launched = machine.run(with_keys.replace("region flavors", "run quickstart_digits")).split()[0]
    assert "completed" in wait_for(machine, launched)


def within(machine: Debian, unit: str, command: str) -> "subprocess.CompletedProcess[str]":
    """A command in the data folder as a unit's account and with its file systems."""
    enter = f"nsenter --mount --target $({MAIN_PROCESS}{unit}) sudo -u aisbench-{unit}"
    return machine.attempt(f"{enter} sh -c 'cd /var/lib/aisbench && {command} < /dev/null'")


def require_secrets_of_the_proxy_for_its_account(machine: Debian) -> None:
    """The commands of the page, without the proxies: what they protect is read by their accounts, and by no other."""
    script = blocks("The proxy")[0].replace(
        "htpasswd -B -c /etc/aisbench/htpasswd ann", "echo > /etc/aisbench/htpasswd"
    )
    script = re.sub(r"^.*systemctl reload.*\n", "", script.replace("$(caddy hash-password)", "hash"), flags=re.M)
    machine.run("useradd --system --user-group --groups www-data caddy")  # as Debian's package does
    machine.run(script + "install -m 0640 -g www-data /dev/null /etc/aisbench/tls/key.pem")
    for file in ("htpasswd", "caddy-people", "tls/key.pem"):
        for account in ("www-data", "caddy"):
            machine.run(f"sudo -u {account} cat /etc/aisbench/{file}")
        refused = machine.attempt(f"sudo -u aisbench-console cat /etc/aisbench/{file}")
        assert "Permission denied" in refused.stderr, file


def require_the_address_of_the_drop_in(machine: Debian) -> None:
    """The drop-in of a console behind HAProxy: it listens at its address, and nowhere else."""
    [text] = blocks("Several consoles behind HAProxy", "ini")
    [file] = re.findall(r"^# (\S+) on 10\.0\.0\.11$", text, re.M)
    machine.run(f"cat > {file} <<'end'\n{text.replace('10.0.0.11', '127.0.0.2')}end\n")
    machine.run("systemctl daemon-reload && systemctl restart aisbench-console")
    until = time.monotonic() + 60
    while machine.attempt("curl -sf http://127.0.0.2:8501/readyz").returncode:
        assert time.monotonic() < until, machine.attempt("journalctl -u aisbench-console --no-pager | tail").stdout
        time.sleep(0.5)
    assert machine.attempt("curl -s http://127.0.0.1:8501/readyz").returncode == 7  # nobody listens
