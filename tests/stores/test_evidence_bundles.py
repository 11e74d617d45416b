"""Evidence bundles: whatever is done to one is named, and an honest one never."""

import ast
import base64
import csv
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import frictionless
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.base.errors import ResultError, RunNotFound, SpecError
from aisbench_core.exchange.evidence import verify
from aisbench_core.exchange.evidence.making import VERIFIER
from aisbench_core.model import AnnotationChange, AnnotationKind, Mode, RunState
from aisbench_core.store.audit.audit import AuditChanged
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.warehouse.values.saved import SavedView
from tests import records as a
from tests.actors import TESTER
from tests.bundles import FILE, LOG, RAW, RUNS, EvidenceConsole, find_problems, make_console, make_key, write_zip

FLIPS = int(os.environ.get("BUNDLE_FLIPS", "300"))
HONEST = int(os.environ.get("HONEST_BUNDLES", "5"))
FAILED_EARLY = (35, 56, 116)  # seeds with runs that count in the row of others

KEY = make_key()
REGION = {"region": ("cn-north-9",)}


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> EvidenceConsole:
    return make_console(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="module")
def bundle(console: EvidenceConsole) -> bytes:
    return console.make(*RUNS)


def test_an_honest_bundle_has_no_problems(bundle: bytes) -> None:
    problems, fingerprint, predicate, files = verify.check_bundle(bundle)

    assert problems == []
    assert fingerprint == KEY.public.fingerprint
    assert predicate["made_by"] == "tester"
    assert {"report.html", "report.pdf", "runs.csv", "series.csv", "checks.json", "rulesets/aisbench-1.json"} <= {
        *files
    }
    assert {FILE, RAW, LOG, "verify.py", "datapackage.json"} <= {*files}


def test_of_entries_about_other_runs_a_bundle_says_the_hash_only(console: EvidenceConsole) -> None:
    files = verify.check_bundle(console.make("run-1"))[3]

    audit = json.loads(files["audit.json"])
    told = [number for number, link in enumerate(audit["segment"], audit["first"]) if link[1:]]
    head = SignedHead.find_in(audit["head"])
    [row] = csv.DictReader(io.StringIO(files["runs.csv"].decode(), newline=""))
    assert head
    assert (told, audit["first"] + len(audit["segment"])) == ([audit["first"]], head.number + 1)
    assert b"run-2" not in files["audit.json"]
    assert row["audit_head"] == head.entry
    assert console.heads.check(head, TESTER).audit.last_hash == head.hash


def test_no_bundle_is_made_of_an_audit_that_was_changed(tmp_path: Path) -> None:
    console = EvidenceConsole(tmp_path, KEY)
    console.record(a.records([8000.0]))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as con:
        con.execute("drop trigger audit_is_not_changed")
        con.execute("update audit set who = 'eve' where object = 'run-0'")
        con.commit()

    with pytest.raises(AuditChanged, match="does not follow the one before it"):
        console.make("run-0")


def test_the_same_runs_give_the_same_bytes(console: EvidenceConsole) -> None:
    assert console.make("run-0", "slow") == console.make("slow", "run-0")


def test_every_tool_can_unpack_a_bundle(bundle: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle)) as unpacked:
        assert unpacked.testzip() is None
        assert unpacked.read("verify.py") == VERIFIER.read_bytes()


def test_the_tables_of_a_bundle_are_as_its_data_package_says(bundle: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle)) as unpacked:
        for name in ("runs.csv", "series.csv", "datapackage.json"):
            unpacked.extract(name, tmp_path)

    report = frictionless.validate(tmp_path / "datapackage.json")

    assert report.valid, report.flatten(["rowNumber", "fieldNumber", "type", "note"])
    assert len(report.tasks) == 2


def test_every_flipped_bit_is_named(bundle: bytes) -> None:
    """Every place has its turn in a large number of flips; headers, directory and envelope in each test."""
    chance = random.Random(FLIPS)
    end = len(bundle)
    directory = bundle.index(b"PK\1\2")
    envelope = bundle.index(verify.ENVELOPE.encode(), bundle.index(b"verify.py"))
    places = [chance.randrange(end * 8) for _ in range(FLIPS)]
    places += [chance.randrange(envelope * 8, directory * 8) for _ in range(FLIPS // 4)]
    places += [chance.randrange(directory * 8, end * 8) for _ in range(FLIPS // 4)]

    unseen = [place for place in places if not find_problems(flip_bit(bundle, place))]

    assert unseen == []


def flip_bit(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_a_flipped_bit_is_named_by_its_file(bundle: bytes) -> None:
    start = bundle.index(b"step 2")

    assert any("logs/worker-0.log" in problem for problem in find_problems(flip_bit(bundle, start * 8)))


def test_unused_bits_of_base64_are_named(bundle: bytes) -> None:
    _, _, _, files = verify.check_bundle(bundle)
    envelope = json.loads(files[verify.ENVELOPE])
    sig = envelope["signatures"][0]["sig"]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = sig[:-3] + alphabet[alphabet.index(sig[-3]) ^ 1] + "=="
    assert base64.b64decode(other) == base64.b64decode(sig)
    envelope["signatures"][0]["sig"] = other

    problems = find_problems(write_zip({**files, verify.ENVELOPE: verify.to_canonical(envelope)}))

    assert problems == ["statement.json is damaged, or signed otherwise"]


# --- the signature ----------------------------------------------------------------------------------------------------


@given(st.binary(max_size=200), st.integers(0, 255))
def test_signatures_are_those_of_the_library(message: bytes, seed: int) -> None:
    key = make_key(seed)
    signature = key.sign(message).content

    assert verify.is_signed(key.public.raw, signature, message)
    assert not verify.is_signed(key.public.raw, signature, message + b"x")
    assert not verify.is_signed(make_key((seed + 1) % 256).public.raw, signature, message)
    more = int.from_bytes(signature[32:], "little") + verify.ORDER
    assert not verify.is_signed(key.public.raw, signature[:32] + more.to_bytes(32, "little"), message)


# --- honest bundles ---------------------------------------------------------------------------------------------------

SET_ASIDE = AnnotationChange(a.T0, "ann", AnnotationKind.SET_ASIDE, "cold cache")


def generate_records(seed: int) -> list[Any]:
    """Runs of all kinds: modes, sizes, ends, groups, imports."""
    chance = random.Random(seed)
    records = []
    for number in range(chance.randint(1, 9)):
        mode = chance.choice([Mode.CLUSTER, Mode.CLUSTER, Mode.SINGLE_SERVER])
        nodes, cards = chance.choice([1, 1, 2, 3]), chance.choice([1, 2, 8])
        speed = chance.choice([1000.0, 0.003, 7e9])
        scatter = chance.choice([0.0, 1e-12, 0.01, 0.9])
        record = a.record(
            f"run-{number}",
            mode=mode,
            node_count=nodes,
            cards_per_node=cards,
            throughputs=[speed * (1 + scatter * chance.random()) for _ in range(nodes * cards)],
            accuracy=chance.choice([0.76, 0.5, None]),
            state=chance.choice([RunState.COMPLETED] * 4 + [RunState.FAILED, RunState.STOPPED]),
            with_result=chance.random() < 0.9,
            synthetic_data=chance.random() < 0.2,
            created_at=a.T0 + timedelta(minutes=number),
            framework_version=chance.choice(["r1.10", "r1.11"]),
        )
        if chance.random() < 0.15:
            told = a.imported(f"import-{number}", reported=speed, cards_heard=chance.random() < 0.5)
            record = replace(told, region=record.region)
        records.append(record)
    return records


def test_no_honest_bundle_has_a_problem(tmp_path: Path) -> None:
    alarms = {}
    for seed in (*range(HONEST), *FAILED_EARLY):
        console = EvidenceConsole(tmp_path / str(seed), KEY, print_page=str.encode)
        records = generate_records(seed)
        console.record(records)
        for record in random.Random(seed).sample(records, seed % 3 % len(records)):
            console.warehouse.annotations.add(record.run.run_id, [SET_ASIDE], None)
        if problems := find_problems(console.make(*(record.run.run_id for record in records))):
            alarms[seed] = problems

    assert alarms == {}


# --- making -----------------------------------------------------------------------------------------------------------


def test_no_bundle_is_made_of_files_that_are_not_as_they_were_recorded(tmp_path: Path) -> None:
    console = EvidenceConsole(tmp_path, KEY)
    console.record(a.records([8000.0]))
    file = console.folders.path("run-0").result_files
    file.write_text(file.read_text().replace("1000", "2000"))

    with pytest.raises(ResultError, match=r"files differ from what was recorded: result_files.json \(changed\)"):
        console.make("run-0")


def test_a_run_or_series_that_was_not_recorded_has_no_bundle(console: EvidenceConsole) -> None:
    with pytest.raises(RunNotFound, match="no run, series or saved view is called nobody"):
        console.make("nobody")


@pytest.mark.parametrize(
    ("page", "address", "runs"),
    [
        ("leaderboard", {**REGION, "version": ("r1.11",)}, {"slow"}),
        ("leaderboard", {**REGION, "version": ("r1.10",), "where": ("throughput:8050..",)}, {"run-1", "run-2"}),
        ("leaderboard", {**REGION, "show": ("runs",), "invalid": ("1",), "worth": ("incomplete",)}, {"failed"}),
        ("compare", {"ids": ("run-0", "slow")}, {"run-0", "slow"}),
    ],
)  # fmt: skip
def test_a_saved_view_becomes_a_bundle_of_the_runs_that_it_shows(
    console: EvidenceConsole, page: str, address: dict[str, tuple[str, ...]], runs: set[str]
) -> None:
    console.warehouse.saved_views.save(SavedView(page, "mine", address, "ann", a.T0), TESTER, overwrite=True)

    try:
        listed = console.bundles.list_runs(["mine"])
    finally:
        console.warehouse.saved_views.delete(page, "mine", TESTER)

    assert {*listed} == runs


@pytest.mark.parametrize(
    ("page", "address", "why"),
    [
        ("runs", {"q": ("slow",)}, "must be leaderboard, compare .found runs"),
        ("leaderboard", {**REGION, "q": ("nothing is called so",)}, "no run fits the filter"),
        ("leaderboard", {**REGION, "where": ("nothing:1",)}, "no such number"),
        ("leaderboard", {**REGION, "origin": ("nowhere",)}, "'nowhere' is not a valid Origin"),
        ("compare", {}, "must be 1 to 200"),
    ],
)
def test_a_saved_view_that_shows_no_runs_says_why(
    console: EvidenceConsole, page: str, address: dict[str, tuple[str, ...]], why: str
) -> None:
    console.warehouse.saved_views.save(SavedView(page, "mine", address, "ann", a.T0), TESTER, overwrite=True)

    try:
        with pytest.raises(SpecError, match=why):
            console.bundles.list_runs(["mine"])
    finally:
        console.warehouse.saved_views.delete(page, "mine", TESTER)


# --- the script -------------------------------------------------------------------------------------------------------


def test_the_script_alone_verifies_a_bundle_on_a_bare_interpreter(bundle: bytes, tmp_path: Path) -> None:
    files = verify.check_bundle(bundle)[3]
    (tmp_path / "verify.py").write_bytes(files["verify.py"])
    (tmp_path / "good.zip").write_bytes(bundle)
    (tmp_path / "bad.zip").write_bytes(flip_bit(bundle, 8000))
    run = [sys.executable, "-I", "-S", "verify.py"]

    good = subprocess.run(
        [*run, "good.zip", KEY.public.fingerprint], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    bad = subprocess.run([*run, "bad.zip"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (good.returncode, good.stderr, bad.returncode, bad.stderr) == (0, "", 1, "")
    assert good.stdout.startswith("every file is as it was signed, and every value follows from the raw files\n")


def test_the_script_is_short_and_python_3_8_with_nothing_but_its_standard_library() -> None:
    text = VERIFIER.read_text()
    tree = ast.parse(text, feature_version=(3, 8))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}

    assert len(text.splitlines()) <= 250
    assert imported <= {*sys.stdlib_module_names}
    assert not imported & {"socket", "urllib", "http", "subprocess", "os"}
