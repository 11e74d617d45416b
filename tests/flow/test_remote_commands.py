"""Commands over a server: the same answers as on the server's own machine, with the role of a token."""

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from aisbench_core.config.settings import Settings
from aisbench_core.model import Role
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.wiring import Core, open_core
from tests.flow.api_process import ApiProcess, Program
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD as OUTPUTS
from tests.flow.remote_shell import RemoteShell, token_for
from tests.flow.test_regress import BAD, GOOD, version
from tests.sandbox_process import SandboxProcess
from tests.unit.old_logs import BERT

pytestmark = pytest.mark.slow

MEASURED = "--region=cn-north-9"
TOKYO = {"TZ": "Asia/Tokyo"}


@dataclass(frozen=True)
class Site:
    """A server with results, its own shell, and shells of other machines."""

    core: Core
    here: CommandLine
    server: ApiProcess
    home: Path
    run_id: str

    def shell(self, role: Role, **request: Any) -> RemoteShell:
        """Of somebody with this role."""
        return RemoteShell(self.server.url, token_for(self.core, role, **request), self.home)


@pytest.fixture(scope="module")
def site(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    scripted_sandbox.script(outputs=OUTPUTS, log="step 1\nstep 2\n")
    here = CommandLine(tmp_path_factory.mktemp("site") / "data", scripted_sandbox)
    core = open_core(Settings(data_dir=here.data_dir, profile="lab"))
    launched = here.type("run", "quickstart_digits", "--wait")
    assert launched.exit_code == 0, launched.output
    records = [*version("r1.10", GOOD, 0), *version("r1.11", BAD, 1)]
    Warehouse(here.data_dir / "warehouse.duckdb").record_many(records)
    server = ApiProcess(here.data_dir, profile="lab", poll_seconds="0.05", tick_seconds="0.02")
    yield Site(core, here, server, tmp_path_factory.mktemp("home"), launched.stdout.strip())
    assert "Traceback" not in server.stop()


@pytest.fixture(scope="module")
def admin(site: Site) -> RemoteShell:
    return site.shell(Role.ADMIN)


def parts(result: Result) -> tuple[int, str, str]:
    """What a script sees of a command."""
    return result.exit_code, result.stdout, result.stderr


# --- the same answers -----------------------------------------------------------------------------------


READS: Sequence[tuple[str, ...]] = (
    ("runs",),
    ("show", "nothing"),
    ("logs", "RUN", "--tail", "1", "--json"),
    ("regress", MEASURED),
    ("export", MEASURED),
    ("people", "list", "--json"),
    ("sql", "select run_id, throughput from v_runs where not rehearsal order by 1"),
    ("sql", "select * from read_csv('/etc/passwd')"),
    ("spec", "quickstart_digits", "--set", "code_dir=/etc"),
)
# Each takes a second for its process, and the way of its answer is one of those above.
MORE_READS: Sequence[tuple[str, ...]] = (
    ("runs", "--state", "nonsense"),
    ("show", "RUN"),
    ("logs", "RUN"),
    ("leaderboard", MEASURED, "--json"),
    ("compare", "r1.10-0", "r1.11-0"),
    ("regress", MEASURED, "--model", "another"),
    ("series", "list"),
    ("region", "flavors"),
    ("note", "RUN"),
    ("audit", "--verify"),
    ("spending",),
)


def named(words: Sequence[str]) -> str:
    return " ".join(words)


@pytest.mark.parametrize(
    "words",
    [
        *(pytest.param(words, id=named(words)) for words in READS),
        *(pytest.param(words, id=named(words), marks=pytest.mark.exhaustive) for words in MORE_READS),
    ],
)
def test_a_command_answers_as_on_the_servers_machine(site: Site, admin: RemoteShell, words: Sequence[str]) -> None:
    typed = [site.run_id if word == "RUN" else word for word in words]

    here, there = site.here.type(*typed), admin.type(*typed)

    assert [*map(without_now, parts(there))] == [*map(without_now, parts(here))]


def without_now(text: object) -> str:
    """The text without times of this day, such as that of an export; measured runs are older."""
    return re.sub(rf"{datetime.now(UTC):%Y-%m-%d}T[0-9:.]+Z", "NOW", str(text))


def test_times_are_those_of_the_clients_zone(admin: RemoteShell) -> None:
    here, there = admin.type("runs"), admin.type("runs", **TOKYO)

    moments = [re.search(r"\d{4}-\d\d-\d\d (\d\d)", each.stdout) for each in (here, there)]
    hours = [int(moment[1]) for moment in moments if moment]
    assert (hours[1] - hours[0]) % 24 == 9


# --- files --------------------------------------------------------------------------------------------------


def test_files_are_written_on_the_clients_machine(site: Site, admin: RemoteShell, tmp_path: Path) -> None:
    results = []
    for shell, folder in ((site.here, tmp_path / "here"), (admin, tmp_path / "there")):
        folder.mkdir()
        files = [str(folder / name) for name in ("regress.xml", "regress.md", "runs.csv")]
        regress = shell.type("regress", MEASURED, "--junit", files[0], "--markdown", files[1])
        export = shell.type("export", MEASURED, "-o", files[2])
        said = (*parts(regress), *parts(export))
        results.append([str(each).replace(str(folder), "FOLDER") for each in said])

    assert results[0] == results[1]
    assert results[1][0] == "5"
    for name in ("regress.xml", "regress.md"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert (tmp_path / "there" / "runs.csv").read_text("utf-8").count("\n") > len(GOOD)


def test_a_file_that_cannot_be_written_fails_as_on_the_servers_machine(
    site: Site, admin: RemoteShell, tmp_path: Path
) -> None:
    typed = ("regress", MEASURED, "--junit", str(tmp_path / "nowhere" / "regress.xml"))

    here, there = site.here.type(*typed), admin.type(*typed)

    assert parts(there) == parts(here)
    assert (there.exit_code, "cannot be written: No such file" in there.stderr) == (2, True)


def test_a_file_that_is_there_is_replaced_only_on_request(admin: RemoteShell, tmp_path: Path) -> None:
    file = tmp_path / "copy.duckdb"
    file.write_text("mine", "utf-8")

    refused = admin.type("warehouse", "snapshot", str(file))
    kept = file.read_text("utf-8")
    replaced = admin.type("warehouse", "snapshot", str(file), "--replace")

    assert (refused.exit_code, kept) == (2, "mine")
    assert f"{file} already exists" in refused.stderr
    assert replaced.exit_code == 0, replaced.output
    assert file.read_bytes()[8:12] == b"DUCK"
    assert str(file) in replaced.stdout


def test_results_are_imported_from_the_clients_folder_once(admin: RemoteShell, site: Site, tmp_path: Path) -> None:
    (tmp_path / "old" / "deep").mkdir(parents=True)
    (tmp_path / "old" / "deep" / "bert.log").write_text(BERT, "utf-8")

    previewed = admin.type("import", "--dry-run", str(tmp_path / "old"))
    stored = admin.type("import", str(tmp_path / "old"))
    again = site.here.type("import", str(tmp_path / "old"))

    assert previewed.exit_code == 0, previewed.output
    assert "aisbench-command" not in previewed.output
    assert stored.stdout == "1 new in region imported, 0 already imported\n"
    assert again.stdout == "0 new in region imported, 1 already imported\n"
    assert "bert.log" in admin.type("imports", "list").stdout


def test_a_spec_file_is_read_on_the_clients_machine(site: Site, admin: RemoteShell, tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(admin.type("spec", "quickstart_digits", "--nodes", "2").stdout, "utf-8")
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("workload: quickstart_digits\nnodes: many\n", "utf-8")

    for words in (("preflight", str(file)), ("preflight", str(wrong)), ("diff", str(file), site.run_id),
                  ("run", str(tmp_path / "none.yaml")), ("run", str(file), "--dry-run")):  # fmt: skip
        assert parts(admin.type(*words)) == parts(site.here.type(*words)), words


def test_files_beyond_the_limit_are_refused_before_they_are_sent(admin: RemoteShell, tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.truncate(33 * 1024 * 1024)

    refused = admin.type("import", str(tmp_path / "huge.log"))

    assert refused.exit_code == 2
    assert "huge.log cannot be sent: files of a command may have 32 MB together" in refused.stderr


# --- changes --------------------------------------------------------------------------------------------------


def test_a_run_is_launched_followed_and_recorded_in_the_tokens_name(site: Site) -> None:
    engineer = site.shell(Role.ENGINEER, name="ann")

    launched = engineer.type("run", "quickstart_digits", "--follow")
    run_id = launched.stdout.strip()

    assert launched.exit_code == 0, launched.output
    assert "step 2" in launched.stderr
    assert (site.core.ledger.get(run_id).created_by, site.core.ledger.get(run_id).state) == ("ann", "completed")
    (entry,) = site.here.answer("audit", "--object", run_id, "--change", "run.")
    assert (entry["change"], entry["who"], entry["role"], entry["via"]) == ("run.launch", "ann", "engineer", "cli")


def test_questions_are_asked_on_the_clients_machine(site: Site, admin: RemoteShell) -> None:
    admin.type("people", "set-role", "eve", "viewer")
    answers = ("n\n", "", "y\n")

    there = [admin.type("people", "revoke", "eve", stdin=text) for text in answers]
    site.here.type("people", "set-role", "eve", "viewer")
    here = [site.here.type("people", "revoke", "eve", stdin=text) for text in answers]

    assert [parts(each) for each in there] == [parts(each) for each in here]
    assert [each.exit_code for each in there] == [1, 1, 0]


def test_a_query_is_read_from_the_clients_stdin(admin: RemoteShell) -> None:
    result = admin.type("sql", "-", "--format", "csv", stdin="select 41 + 1 as answer")

    assert result.stdout.splitlines() == ["answer", "42"]


CHANGES = (
    (Role.ENGINEER, ("run", "quickstart_digits")),
    (Role.LEAD, ("stop", "RUN")),
    (Role.ADMIN, ("audit", "--limit", "1")),
    pytest.param(Role.ENGINEER, ("tag", "RUN", "+seen"), marks=pytest.mark.exhaustive),
    pytest.param(Role.LEAD, ("baseline", "mark", "r1.10-0"), marks=pytest.mark.exhaustive),
    pytest.param(Role.ADMIN, ("clean", "RUN", "--folder", "--yes"), marks=pytest.mark.exhaustive),
    pytest.param(Role.ADMIN, ("people", "set-role", "zoe", "viewer"), marks=pytest.mark.exhaustive),
)


@pytest.mark.parametrize(("needed", "words"), CHANGES, ids=str)
def test_a_role_holds_over_a_server(site: Site, needed: Role, words: Sequence[str]) -> None:
    typed = [site.run_id if word == "RUN" else word for word in words]
    below = list(Role)[list(Role).index(needed) - 1]

    refused, done = site.shell(below).type(*typed), site.shell(needed).type(*typed)

    assert refused.exit_code == 2
    assert f"needs the role {needed}, and some-{below} has {below}" in refused.stderr
    assert done.exit_code == 0, done.output


def test_a_read_only_token_reads_and_changes_nothing(site: Site) -> None:
    reader = site.shell(Role.ADMIN, name="reader", read_only=True)
    before = site.here.answer("audit", "--outcome", "done", "--who", "reader")

    read = [reader.type(*words).exit_code for words in (("runs",), ("people", "list"), ("token", "list"))]
    changed = [
        reader.type(*words)
        for words in (("tag", site.run_id, "+x"), ("run", "quickstart_digits"), ("people", "set-role", "x", "lead"))
    ]

    assert read == [0, 0, 0]
    assert [each.exit_code for each in changed] == [2, 2, 2]
    assert all("needs more than a read-only token" in each.stderr for each in changed)
    assert site.here.answer("audit", "--outcome", "done", "--who", "reader") == before == []


def test_whoever_is_no_admin_sees_only_tokens_of_their_own(site: Site) -> None:
    viewer = site.shell(Role.VIEWER, name="vic")

    seen = viewer.type("token", "list").stdout
    everybodys = site.here.type("token", "list").stdout

    assert (seen.count("\n"), "vic" in seen) == (2, True)
    assert everybodys.count("\n") > 2


def test_files_of_the_server_are_neither_read_nor_examined(site: Site, tmp_path: Path) -> None:
    engineer = site.shell(Role.ENGINEER)
    secret = site.here.data_dir / "ledger.sqlite3"
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"workload: quickstart_digits\ncode_dir: {site.here.data_dir}\n", "utf-8")

    tried = [
        engineer.type("preflight", str(spec)),
        engineer.type("run", "quickstart_digits", "--dry-run", "--set", f"code_dir={site.here.data_dir}"),
        engineer.type("spec", "quickstart_digits", "--set", f"update.cann={secret}"),
    ]
    local = engineer.type("spec", "quickstart_digits", "--set", "code_dir=here")
    unsent = engineer.type("sql", "select 1", "--snapshot", str(spec))

    assert [each.exit_code for each in (*tried, local, unsent)] == [2] * 5
    assert all("names files on the server" in each.stderr for each in tried)
    assert "here is a path on your machine" in local.stderr
    assert "--snapshot names a file of this machine, which is not sent" in unsent.stderr


def test_a_request_made_by_hand_reads_no_file_of_the_server(site: Site) -> None:
    """What `aisbench` refuses to send, somebody else may."""
    program = Program(site.server.url, token_for(site.core, Role.VIEWER))
    there, nowhere = site.here.data_dir / "warehouse.duckdb", site.here.data_dir / "nowhere"

    said = []
    for file in (there, nowhere):
        body = {"command": ["sql"], "arguments": ["select 1", "--snapshot", str(file)]}
        records = [
            json.loads(line) for line in program.post("/commands", body, Idempotency_Key=file.name).content.splitlines()
        ]
        said.append([base64.b64decode(each["data"]).decode() for each in records if each["kind"] == "stderr"])
        assert records[-1] == {"kind": "exit", "code": 2}

    assert said[0] == said[1]
    assert "--snapshot names a file of this machine, which is not sent" in "".join(said[0])


@pytest.mark.parametrize("words", [("serve",), ("backup", "x.tar.gz"), ("doctor",), ("warehouse", "move", "x")])
def test_a_command_about_the_own_machine_says_how_to_run_it(admin: RemoteShell, words: Sequence[str]) -> None:
    refused = admin.type(*words)

    assert refused.exit_code == 2
    assert f"to run it on this machine: aisbench --local {words[0]}" in refused.stderr


def test_local_runs_a_command_here(admin: RemoteShell, site: Site) -> None:
    data_dir = {"AISBENCH_DATA_DIR": str(site.here.data_dir)}

    assert admin.type("--local", "runs", **data_dir).stdout == site.here.type("runs").stdout
