"""Whatever is done to an evidence bundle is named; a hostile one is refused without a traceback."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.exchange.evidence import verify
from tests.bundles import FILE, LOG, RAW, RUNS, Files, find_problems, make_console, make_key, sign_again, write_zip

KEY = make_key()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return make_console(tmp_path_factory.mktemp("console")).make(*RUNS)


# --- tampering: the files change, and the zip file is written anew ----------------------------------------------------


def change_cell(name: str, column: str, value: str) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        rows = list(csv.reader(io.StringIO(files[name].decode(), newline="")))
        row = next((row for row in rows if "run-0" in row), rows[1])
        row[rows[0].index(column)] = value
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        files[name] = text.getvalue().encode()

    return change


def change_text(name: str, old: bytes, new: bytes) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    return change


def put_file(name: str, content: bytes) -> Callable[[Files], None]:
    return lambda files: files.__setitem__(name, content)


def drop_file(name: str) -> Callable[[Files], None]:
    return lambda files: files.__delitem__(name)


def move_file(name: str, to: str) -> Callable[[Files], None]:
    return lambda files: files.__setitem__(to, files.pop(name))


def swap_files(one: str, other: str) -> Callable[[Files], None]:
    return lambda files: files.update({one: files[other], other: files[one]})


def change_entries(change: Callable[[list[Any]], object]) -> Callable[[Files], None]:
    """Change the list of the audit's entries."""

    def work(files: Files) -> None:
        audit = json.loads(files["audit.json"])
        change(audit["segment"])
        files["audit.json"] = verify.to_canonical(audit)

    return work


def drop_run(files: Files) -> None:
    for name in [name for name in files if name.startswith("runs/run-0/")]:
        del files[name]
    rows = [line for line in files["runs.csv"].split(b"\r\n") if b",run-0," not in line]
    files["runs.csv"] = b"\r\n".join(rows)


def copy_run(files: Files) -> None:
    for name in [name for name in files if name.startswith("runs/run-2/")]:
        files[name.replace("run-2", "run-9")] = files[name].replace(b"run-2", b"run-9")


TAMPERING: dict[str, tuple[Callable[[Files], None], str]] = {
    "the throughput in the export of runs": (change_cell("runs.csv", "throughput_cluster", "9000.0"), "runs.csv"),
    "the validity in the export of runs": (change_cell("runs.csv", "validity", "invalid"), "runs.csv"),
    "the person in the export of runs": (change_cell("runs.csv", "created_by", "eve"), "runs.csv"),
    "the time in the export of runs": (change_cell("runs.csv", "created_at_utc", "2020-01-01T00:00:00Z"), "runs.csv"),
    "the accuracy in the export of runs": (change_cell("runs.csv", "accuracy", "0.9"), "runs.csv"),
    "a median": (change_cell("series.csv", "median", "9000.0"), "series.csv"),
    "the end of an interval": (change_cell("series.csv", "ci95_low", "8000.0"), "series.csv"),
    "the number of runs": (change_cell("series.csv", "runs_valid", "30"), "series.csv"),
    "a rank in the record": (change_text(FILE, b"1012.5", b"1112.5"), FILE),
    "the state in the record": (change_text(FILE, b'"completed"', b'"failed"'), FILE),
    "the file of a rank": (change_text(RAW, b"1012.5", b"1112.5"), RAW),
    "a line of a log": (change_text(LOG, b"step 2", b"step 3"), LOG),
    "a log that was cut off": (change_text(LOG, b"step 2\n", b""), LOG),
    "an empty file": (put_file(LOG, b""), LOG),
    "a verdict": (change_text("checks.json", b'"ok"', b'"fail"'), "checks.json"),
    "a limit of the ruleset": (change_text("rulesets/aisbench-1.json", b"0.95", b"0.15"), "rulesets/aisbench-1.json"),
    "the ruleset's name": (
        move_file("rulesets/aisbench-1.json", "rulesets/aisbench-2.json"),
        "rulesets/aisbench-1.json",
    ),
    "a sentence of the report": (change_text("report.html", b"resnet50", b"resnet99"), "report.html"),
    "the report as PDF": (change_text("report.pdf", b"%PDF", b"%PdF"), "report.pdf"),
    "another report": (put_file("report.pdf", b"%PDF-1.7"), "report.pdf"),
    "a unit in the schema": (change_text("datapackage.json", b"samples", b"Samples"), "datapackage.json"),
    "another verifier": (put_file("verify.py", b"print('fine')\n"), "verify.py"),
    "a dropped log": (drop_file(LOG), LOG),
    "a dropped record": (drop_file(FILE), FILE),
    "a dropped report": (drop_file("report.html"), "report.html"),
    "a dropped table": (drop_file("series.csv"), "series.csv"),
    "a dropped run": (drop_run, "runs/run-0/record.json is missing"),
    "a run twice": (copy_run, "runs/run-9/record.json was added"),
    "an added log": (put_file("runs/run-1/logs/worker-9.log", b"step 1\n"), "worker-9.log was added"),
    "an added program": (put_file("setup.exe", b"MZ"), "setup.exe was added"),
    "a bundle in the bundle": (put_file("bundle.zip", b"PK"), "bundle.zip was added"),
    "the logs of two runs": (swap_files(RAW, "runs/run-2/result_files.json"), RAW),
    "the records of two runs": (swap_files(FILE, "runs/run-2/record.json"), FILE),
    "a renamed file": (move_file(LOG, "runs/run-2/logs/worker-1.log"), LOG),
    "a path out of the folder": (put_file("../../etc/cron.d/x", b"x"), "../../etc/cron.d/x was added"),
    "no statement": (drop_file(verify.ENVELOPE), verify.ENVELOPE),
    "a statement of nothing": (put_file(verify.ENVELOPE, b"{}"), verify.ENVELOPE),
    "a statement with a blank": (change_text(verify.ENVELOPE, b":", b": "), verify.ENVELOPE),
    "a statement with another type": (change_text(verify.ENVELOPE, b"in-toto+json", b"in-toto"), verify.ENVELOPE),
}


@pytest.mark.parametrize("what", TAMPERING)
def test_what_was_tampered_with_is_named(bundle: bytes, what: str) -> None:
    tamper, named = TAMPERING[what]
    files = dict(verify.check_bundle(bundle)[3])
    tamper(files)
    envelope = files.pop(verify.ENVELOPE, None)
    files = dict(sorted(files.items())) | ({verify.ENVELOPE: envelope} if envelope is not None else {})

    problems = find_problems(write_zip(files))

    assert any(named in problem for problem in problems), problems


def test_the_order_of_entries_is_part_of_a_bundle(bundle: bytes) -> None:
    files = verify.check_bundle(bundle)[3]
    last = files[verify.ENVELOPE]
    reordered = dict(reversed([item for item in files.items() if item[0] != verify.ENVELOPE]))

    assert find_problems(write_zip({**reordered, verify.ENVELOPE: last})) == [
        "the zip file has more in it than a bundle, or in another order"
    ]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_bundle_that_another_program_packed_again_is_named(bundle: bytes, compression: int) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as packed:
        for name, content in verify.check_bundle(bundle)[3].items():
            packed.writestr(name, content)

    assert find_problems(target.getvalue())


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + b"\0",
        lambda data: b"\0" + data,
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-2] + b"\1\0!",
        lambda data: data + data,
        lambda data: data[:0],
    ],
)
def test_bytes_before_behind_and_instead_of_a_bundle_are_named(bundle: bytes, change: Callable[[bytes], bytes]) -> None:
    assert find_problems(change(bundle))


# --- who signs what they like still cannot say what does not follow ---------------------------------------------------


RECOMPUTED = {
    "a throughput": (change_cell("runs.csv", "throughput_cluster", "9000.0"), "throughput_cluster of run-0 is 9000.0"),
    "per node": (change_cell("runs.csv", "throughput_per_node", "1.0"), "throughput_per_node of run-0 is 1.0"),
    "per card": (change_cell("runs.csv", "throughput_per_card", "1.0"), "throughput_per_card of run-0 is 1.0"),
    "an accuracy": (change_cell("runs.csv", "accuracy", "0.9"), "accuracy of run-0 is 0.9, and 0.76"),
    "cards": (change_cell("runs.csv", "ranks_found", "7"), "ranks_found of run-0 is 7, and 8"),
    "a verdict": (change_cell("runs.csv", "validity", "invalid"), "validity of run-0 is invalid, and valid"),
    "failed checks": (change_cell("runs.csv", "failed_checks", "V05"), "failed_checks of run-0 is V05"),
    "a median": (change_cell("series.csv", "median", "9000.0"), "series.csv: median of run-2 is 9000.0, and 8100.0"),
    "a mean": (change_cell("series.csv", "mean", "9000.0"), "series.csv: mean of run-2"),
    "the best": (change_cell("series.csv", "best", "9000.0"), "series.csv: best of run-2"),
    "the spread": (change_cell("series.csv", "sd", "1.0"), "series.csv: sd of run-2"),
    "an interval's lower end": (change_cell("series.csv", "ci95_low", "8000.0"), "series.csv: ci95_low of run-2"),
    "an interval's upper end": (change_cell("series.csv", "ci95_high", "8200.0"), "series.csv: ci95_high of run-2"),
    "the number of runs": (change_cell("series.csv", "runs_total", "3"), "series.csv: runs_total of run-2 is 3, and 4"),
    "a raw file": (change_text("runs/run-0/result_files.json", b"1000.0", b"1100.0"), "throughput_cluster of run-0"),
    "the author of an entry": (change_text("audit.json", b'"who":"tester"', b'"who":"eve"'), "entry 1 does not follow"),
    "a dropped entry": (change_entries(lambda links: links.pop(1)), "entry 3 does not follow"),
    "swapped entries": (change_entries(lambda links: links.insert(1, links.pop(2))), "entry 3 does not follow"),
    "a dropped last entry": (change_entries(lambda links: links.pop()), "the last entry is not the signed head"),
    "no entries": (change_entries(list[Any].clear), "the last entry is not the signed head"),
    "a record after its seal": (change_text(FILE, b"1012.5", b"1112.5"), "the record of run run-1 is not the one that"),
    "the report of other runs": (put_file("report.html", b"AISB-000000000000"), "report.html is about other runs"),
}


@pytest.mark.parametrize("what", RECOMPUTED)
def test_what_the_owner_of_the_key_changed_does_not_follow_from_the_raw_files(bundle: bytes, what: str) -> None:
    tamper, named = RECOMPUTED[what]
    files = dict(verify.check_bundle(bundle)[3])
    statement = files[verify.ENVELOPE]
    tamper(files)

    problems = find_problems(sign_again({**files, verify.ENVELOPE: statement}))

    assert any(named in problem for problem in problems), problems


def test_an_attempt_that_was_left_out_of_its_series_is_named(bundle: bytes) -> None:
    files = verify.check_bundle(bundle)[3]

    problems = find_problems(sign_again(files, recorded=["run-0", "run-7"]))

    assert problems == ["run run-7 was left out of its series"]


def test_only_runs_without_a_result_count_in_the_row_of_others(bundle: bytes) -> None:
    files = verify.check_bundle(bundle)[3]

    moved = find_problems(sign_again(files, failed_early={"slow": "run-0"}))
    failed = find_problems(sign_again(files, failed_early={"failed": "slow"}))

    assert moved == []
    assert "series.csv: runs_total of run-2 is 4, and 3 by the raw files" in failed


def test_the_key_of_another_console_is_named(bundle: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "theirs.zip").write_bytes(sign_again(verify.check_bundle(bundle)[3], seed=2))

    theirs = verify.main(str(tmp_path / "theirs.zip"), KEY.public.fingerprint)

    assert theirs == 1
    assert f"it was not signed by the key {KEY.public.fingerprint}" in capsys.readouterr().out


# --- hostile bundles --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "predicate",
    [
        {"group_keys": 1},
        {"group_keys": ["nothing"]},
        {"failed_early": []},
        {"failed_early": {"failed": "nobody"}},
        {"recorded": 7},
        {"recorded": [[]]},
        {"made_by": "\x1b[2J{x}", "recorded": ["{run}\x1b[2J"]},
    ],
)
def test_a_hostile_statement_is_a_problem_and_no_traceback(
    bundle: bytes, predicate: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hostile.zip").write_bytes(sign_again(verify.check_bundle(bundle)[3], **predicate))

    assert verify.main(str(tmp_path / "hostile.zip")) == 1
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 100_000, b"NaN", b"\xff", b'{"run": 1}', b"null", b""],
)
def test_hostile_files_are_problems_and_no_traceback(bundle: bytes, content: bytes) -> None:
    for name in (FILE, RAW, "audit.json", "checks.json", "runs.csv", "series.csv"):
        files = verify.check_bundle(bundle)[3]
        assert find_problems(sign_again({**files, name: content})), name


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"null", b"\xff", b'{"payload": 1}', b'{"payload":"","signatures":[{"sig":""}]}']
)
def test_hostile_envelopes_are_problems_and_no_traceback(bundle: bytes, content: bytes) -> None:
    files = verify.check_bundle(bundle)[3]

    assert find_problems(write_zip({**files, verify.ENVELOPE: content}))


@given(st.binary(max_size=300), st.integers(0, 10_000))
def test_any_bytes_are_problems_and_no_traceback(noise: bytes, number: int) -> None:
    assert find_problems(noise)
    assert find_problems(b"PK\3\4" + noise + b"PK\5\6" + number.to_bytes(18, "little"))
