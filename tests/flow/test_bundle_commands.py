"""`aisbench evidence bundle`, `verify` and `import`: from a job on one console to a verified run on another."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from aisbench_core.config.settings import Settings
from aisbench_core.exchange.evidence import verify
from aisbench_core.model import RunState
from aisbench_core.wiring import Core, open_core
from tests import records as a
from tests.actors import TESTER
from tests.bundles import EvidenceConsole, find_problems, make_key, sign_again
from tests.flow.command_line import CommandLine
from tests.flow.following import GOOD, bench_on
from tests.sandbox_process import SandboxProcess

THEIRS = make_key()


@pytest.fixture
def shell(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[CommandLine]:
    shell = CommandLine(tmp_path / "data", sandbox)
    yield shell
    shell.end()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A bundle of another console's two runs."""
    console = EvidenceConsole(tmp_path / "theirs", THEIRS, print_page=str.encode)
    console.record(a.records([8000.0, 8100.0]))
    file = tmp_path / "bundle.zip"
    file.write_bytes(console.make("run-0", "run-1"))
    return file


def test_a_run_of_the_region_becomes_a_bundle_with_its_code_and_raw_files(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    sandbox.script(by="look", outputs=GOOD, log="step 1\n")
    bench = bench_on(sandbox, tmp_path / "data")
    run = bench.follow(bench.launch())
    assert run.state is RunState.COMPLETED
    file = tmp_path / "bundle.zip"

    with file.open("wb") as target:
        made = bench.core.bundles.write([run.run_id], target, TESTER)

    problems, _, predicate, files = verify.check_bundle(file.read_bytes())
    assert problems == []
    assert dict(made.absent) == {}
    raw = json.loads(files[f"runs/{run.run_id}/result_files.json"])
    assert {name for name in raw if name.startswith("throughput_")}
    assert f"code/{run.code_sha256}.json" in files
    assert hashlib.sha256(files[f"code/{run.code_sha256}.json"]).hexdigest() == run.code_sha256
    manifest = json.loads(files[f"code/{run.code_sha256}.json"])
    assert {f"code/{run.code_sha256}/{name}" for name, _ in manifest} <= {*files}
    assert predicate["key"] == str(bench.core.signing_keys.get_public_key())


def test_a_bundle_is_written_and_verified_in_the_shell(shell: CommandLine, tmp_path: Path) -> None:
    core = shell_core(shell)
    core.imports.add_demo(TESTER)
    run_id = core.warehouse.runs.find_ids(["demo"])
    file = tmp_path / "mine.zip"

    made = shell.answer("evidence", "bundle", sorted(run_id)[0], "-o", str(file))
    found = shell.answer("verify", str(file))
    continued = shell.answer("evidence", "check", str(file))

    assert continued["head"]["key"] == made["fingerprint"]
    assert found == {
        "problems": [],
        "fingerprint": made["fingerprint"],
        "signed_by": "this console",
        "is_trusted": True,
        "runs": made["run_ids"],
    }


@pytest.mark.parametrize("words", [("export", "--region", "lab-b"), ("report", "run-0", "--lang", "en")])
def test_a_signed_export_or_report_that_was_edited_is_named(
    words: tuple[str, ...], shell: CommandLine, file: Path, tmp_path: Path
) -> None:
    shell.answer("import", str(file))
    [region] = {region.region for region in shell_core(shell).warehouse.facets.list_regions()}
    words = tuple(region if word == "lab-b" else word for word in words)
    written, statement = tmp_path / "written", tmp_path / "statement.json"

    assert shell.type(*words, "-o", str(written), "--sign", str(statement)).exit_code == 0
    good = shell.answer("verify", str(written), "--statement", str(statement))
    content = written.read_bytes()
    written.write_bytes(content.replace(b"8000", b"9000", 1))
    edited = shell.type("verify", str(written), "--statement", str(statement))
    written.write_bytes(content)
    statement.write_text(statement.read_text().replace('"sig":"', '"sig":"A'))
    forged = shell.type("verify", str(written), "--statement", str(statement))

    assert (good["problems"], good["signed_by"], good["is_trusted"]) == ([], "this console", True)
    assert (edited.exit_code, "written differs from what was signed" in edited.stdout) == (7, True)
    assert (forged.exit_code, "the statement is damaged, or signed otherwise" in forged.stdout) == (7, True)
    assert "written is not a bundle of evidence" in shell.type("verify", str(written)).stderr


@pytest.mark.parametrize("text", ["", "null", "[]", '{"payload": 1}', '{"payload": "bnVsbA=="}', "[" * 100_000])
def test_a_hostile_statement_is_a_problem_and_no_traceback(text: str, shell: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "statement.json").write_text(text)

    found = shell.type("verify", __file__, "--statement", str(tmp_path / "statement.json"))

    assert (found.exit_code, "the statement is damaged" in found.stdout) == (7, True)


def shell_core(shell: CommandLine) -> Core:
    return open_core(Settings(data_dir=shell.data_dir))


def test_verify_names_what_was_changed(shell: CommandLine, file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[data.index(b"step 2")] ^= 1
    file.write_bytes(data)

    found = shell.type("verify", str(file))

    assert found.exit_code == 7
    assert "worker-0.log differs from what was signed" in found.stdout


def test_runs_of_a_trusted_key_are_verified_by_its_owner(shell: CommandLine, file: Path) -> None:
    shell.answer("evidence", "trust", THEIRS.public.fingerprint, "--name", "Laboratory B")

    seen = shell.answer("import", str(file), "--dry-run")
    taken = shell.answer("import", str(file))
    again = shell.answer("import", str(file))

    expected = {"new": 2, "known": 0, "left_out": 0, "verified_by": "Laboratory B"}
    assert seen == taken == {"taken": {str(file): {**expected, "fingerprint": THEIRS.public.fingerprint}}}
    assert again["taken"][str(file)]["known"] == 2
    core = shell_core(shell)
    row = core.warehouse.runs.find_row("run-0")
    assert row
    assert (row.origin, row.validity, row.verified_by, row.source) == (
        "imported", "claimed", "Laboratory B", "bundle.zip"
    )  # fmt: skip
    assert row.throughput == 8000.0
    assert core.folders.path("run-0").log(0).read_text() == "step 1\nstep 2\n"
    assert core.storage.check(TESTER).damages == ()
    assert "verified by Laboratory B" in shell.type("show", "run-0").stdout


def test_runs_of_an_unknown_key_are_claims(shell: CommandLine, file: Path) -> None:
    taken = shell.answer("import", str(file))

    assert taken["taken"][str(file)]["verified_by"] == ""
    row = shell_core(shell).warehouse.runs.find_row("run-0")
    assert row
    assert (row.validity, row.verified_by) == ("claimed", "")


def test_a_withdrawn_key_verifies_nothing(shell: CommandLine, file: Path) -> None:
    shell.answer("evidence", "trust", THEIRS.public.fingerprint, "--name", "Laboratory B")
    shell.answer("evidence", "withdraw", THEIRS.public.fingerprint)

    assert shell.answer("import", str(file))["taken"][str(file)]["verified_by"] == ""


def test_the_verification_survives_a_rebuild_and_an_undo_removes_all(shell: CommandLine, file: Path) -> None:
    shell.answer("evidence", "trust", THEIRS.public.fingerprint, "--name", "Laboratory B")
    shell.answer("import", str(file))
    core = shell_core(shell)

    core.storage.rebuild(TESTER)

    row = core.warehouse.runs.find_row("run-0")
    assert row
    assert row.verified_by == "Laboratory B"
    [one] = core.imports.imports()[0]
    assert core.imports.forget(one, TESTER) == 2
    assert not core.folders.path("run-0").path.exists()


@pytest.mark.parametrize(
    "name", ["runs/../../evil", "runs/run-1/../x", "runs/run-1/.hidden", "runs//x", "runs/.a/record.json"]
)
def test_a_bundle_that_leads_out_of_its_folder_is_refused(shell: CommandLine, file: Path, name: str) -> None:
    files = verify.check_bundle(file.read_bytes())[3]
    file.write_bytes(sign_again({**files, name: b"x"}))

    refused = shell.type("import", str(file))

    assert refused.exit_code != 0
    assert "a bundle has no file like" in refused.stderr
    assert shell_core(shell).warehouse.runs.find_row("run-0") is None
    assert not (shell.data_dir.parent / "evil").exists()


def test_a_record_under_the_name_of_another_run_is_refused(shell: CommandLine, file: Path) -> None:
    files = verify.check_bundle(file.read_bytes())[3]
    files["runs/run-9/record.json"] = files["runs/run-0/record.json"]
    file.write_bytes(sign_again(files))

    assert "the record of run-9 is that of another run" in shell.type("import", str(file)).stderr


def test_a_changed_bundle_is_not_imported(shell: CommandLine, file: Path) -> None:
    with zipfile.ZipFile(file, "a") as more:
        more.writestr("runs/run-0/logs/worker-7.log", "step 9\n")
    assert find_problems(file.read_bytes())

    refused = shell.type("import", str(file))

    assert refused.exit_code != 0
    assert shell_core(shell).warehouse.runs.find_row("run-0") is None


def test_a_rehearsal_and_a_run_that_is_here_stay_out(shell: CommandLine, tmp_path: Path) -> None:
    theirs = EvidenceConsole(tmp_path / "theirs", THEIRS, print_page=str.encode)
    theirs.record(a.records([8000.0], rehearsal=True))
    (tmp_path / "bundle.zip").write_bytes(theirs.make("run-0"))

    taken = shell.answer("import", str(tmp_path / "bundle.zip"))["taken"]

    [one] = taken.values()
    assert (one["new"], one["known"], one["left_out"]) == (0, 0, 1)
