"""Each kind of tampering with a console's own files is named, with the file or row, and what was done."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import AisbenchError
from aisbench_core.config.settings import Settings
from aisbench_core.model import RunState
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.flow.following import GOOD, bench_on
from tests.sandbox_process import SandboxProcess

TRIGGERS = ("audit_is_not_changed", "audit_is_not_thinned", "audit_is_not_replaced")


@pytest.fixture(scope="module")
def recorded(scripted_sandbox: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a recorded run that was annotated, by a ruleset of the lab."""
    scripted_sandbox.reset()
    scripted_sandbox.script(by="look", outputs=GOOD, log="step 1\nstep 2\n")
    data = tmp_path_factory.mktemp("recorded") / "data"
    (data / "rulesets").mkdir(parents=True)
    (data / "rulesets" / "lab.yaml").write_text(RULESET, "utf-8")
    bench = bench_on(scripted_sandbox, data, ruleset="lab/1")
    run = bench.follow(bench.launch())
    assert run.state is RunState.COMPLETED
    bench.core.annotations.note(run.run_id, "as usual", TESTER, None)
    bench.clock.move(1)
    bench.core.annotations.set_aside(run.run_id, "a noisy neighbour", TESTER)
    assert findings(bench.core) == ""
    return data


RULESET = "extends: aisbench/1\nid: lab/1\ntitle: Lab\n"


@pytest.fixture
def core(recorded: Path, tmp_path: Path) -> Core:
    """A console on a copy of that folder."""
    return open_core(Settings(data_dir=shutil.copytree(recorded, tmp_path / "data"), ruleset="lab/1"))


def findings(core: Core) -> str:
    """What `audit --verify` and `warehouse check` name; the latter is an entry of the audit, so it comes last."""
    lines = []
    try:
        core.audit.verify(TESTER)
    except AisbenchError as error:
        lines.append(str(error.message))
    lines += [f"{damage.where}: {damage.sentence}" for damage in core.storage.check(TESTER).damages]
    return "\n".join(lines)


def folder_of(core: Core) -> Path:
    return core.settings.runs_dir / core.ledger.page()[0].run_id


def replace_text(name: str, old: str, new: str) -> Callable[[Core], None]:
    """Another text in a file of the run's folder."""

    def tamper(core: Core) -> None:
        file = folder_of(core) / name
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")

    return tamper


def in_warehouse(statement: str) -> Callable[[Core], None]:
    def tamper(core: Core) -> None:
        with duckdb.connect(core.settings.warehouse_path) as con:
            con.execute(statement)

    return tamper


def in_ledger(*statements: str) -> Callable[[Core], None]:
    def tamper(core: Core) -> None:
        with closing(sqlite3.connect(core.settings.ledger_path)) as con:
            for name in TRIGGERS:
                con.execute(f"drop trigger {name}")
            for statement in statements:
                con.execute(statement)
            con.commit()

    return tamper


def faster_record(core: Core) -> None:
    file = folder_of(core) / "record.json"
    stored = json.loads(file.read_text("utf-8"))
    stored["result"]["rank_results"][0]["throughput"] *= 1.5
    file.write_text(json.dumps(stored, indent=2), "utf-8")


def drop_last_line(name: str) -> Callable[[Core], None]:
    def tamper(core: Core) -> None:
        file = folder_of(core) / name
        lines = file.read_bytes().splitlines(keepends=True)
        assert lines
        file.write_bytes(b"".join(lines[:-1]))

    return tamper


def invent_samples(core: Core) -> None:
    (folder_of(core) / "metrics.jsonl").write_text('{"name": "npuUtil", "value": 99.0}\n', "utf-8")


def add_annotation(core: Core) -> None:
    file = folder_of(core) / "annotations.jsonl"
    last = json.loads(file.read_text("utf-8").splitlines()[-1])
    added = {**last, "at": "2099-01-01T00:00:00Z", "text": "", "who": "eve"}
    file.write_text(f"{file.read_text('utf-8')}{json.dumps(added)}\n", "utf-8")


def copy_run(core: Core) -> None:
    source = folder_of(core)
    target = shutil.copytree(source, source.with_name("r20990101-000000-aaaaaa"))
    record = (target / "record.json").read_text("utf-8").replace(source.name, target.name)
    (target / "record.json").write_text(record, "utf-8")


def swap_entries(core: Core) -> None:
    in_ledger(
        "update audit set number = -1 where number = 2",
        "update audit set number = 2 where number = 3",
        "update audit set number = 3 where number = -1",
    )(core)


def loosen_rule(core: Core) -> None:
    file = core.settings.rulesets_dir / "lab.yaml"
    file.write_text(f"{RULESET}run:\n  V05: null\n", "utf-8")


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        pytest.param(faster_record, "record.json (changed)", id="record"),
        pytest.param(
            replace_text("train_result_info.json", "0.97", "0.99"),
            "train_result_info.json (changed)",
            id="result block",
        ),
        pytest.param(
            replace_text("logs/worker-0.log", "step 2", "step 3"), "logs/worker-0.log (changed)", id="log line"
        ),
        pytest.param(drop_last_line("events.jsonl"), "events.jsonl (changed)", id="event"),
        pytest.param(invent_samples, "metrics.jsonl, line 1 cannot be read", id="sample"),
        pytest.param(replace_text("spec.yaml", "quickstart", "slowstart"), "spec.yaml (changed)", id="spec"),
        pytest.param(
            replace_text("annotations.jsonl", "as usual", "as never"), "(not as entry", id="annotation changed"
        ),
        pytest.param(drop_last_line("annotations.jsonl"), "(not as entry", id="annotation deleted"),
        pytest.param(
            lambda core: (folder_of(core) / "annotations.jsonl").unlink(), "(not as entry", id="annotations deleted"
        ),
        pytest.param(add_annotation, "(set_aside by eve at 2099-01-01 00:00:00 UTC is not in", id="annotation added"),
        pytest.param(copy_run, "r20990101-000000-aaaaaa: was never recorded", id="copy of a run under another id"),
        pytest.param(lambda core: shutil.rmtree(folder_of(core)), "its folder is missing", id="run deleted"),
        pytest.param(
            in_warehouse("update rank_results set throughput = throughput * 2 where rank = 0"),
            "one of them was changed since it was recorded",
            id="cell of a card",
        ),
        pytest.param(in_warehouse("update runs set node_count = 7"), "node_count", id="cell of a run"),
        pytest.param(in_warehouse("delete from events where true"), "events", id="event in the warehouse"),
        pytest.param(
            in_warehouse("update annotations set text = 'as never'"),
            "does not follow",
            id="annotation in the warehouse",
        ),
        pytest.param(in_warehouse("update results set validity = 'invalid'"), "other cells: validity", id="verdict"),
        pytest.param(loosen_rule, "decided by other rules of ruleset lab/1", id="ruleset"),
        pytest.param(
            in_ledger("update audit set who = 'bob' where number = 2"),
            "the audit was changed: entry 2",
            id="entry changed",
        ),
        pytest.param(
            in_ledger("delete from audit where number = 2"), "the audit was changed: entry 3", id="entry deleted"
        ),
        pytest.param(
            in_ledger("delete from audit where number = (select max(number) from audit)"),
            "the audit was cut",
            id="last entry deleted",
        ),
        pytest.param(swap_entries, "the audit was changed: entry 2", id="entries reordered"),
        pytest.param(
            in_ledger("update audit set at = '2001-01-01T00:00:00.000000+00:00' where number = 3"),
            "the audit was changed: entry 3",
            id="time of an entry",
        ),
        pytest.param(
            in_ledger("update seals set files = replace(files, 'spec.yaml', 'spec.yml')"),
            "its seal in the ledger is not the one that the audit names",
            id="seal",
        ),
        pytest.param(
            in_ledger("update runs set created_by = 'eve'"),
            "the record differs from the ledger: created_by",
            id="run in the ledger",
        ),
    ],
)
def test_what_was_done_is_named(core: Core, tamper: Callable[[Core], object], named: str) -> None:
    tamper(core)

    assert named in findings(core)


def test_a_clock_that_was_set_back_is_named_and_no_damage(
    scripted_sandbox: SandboxProcess, recorded: Path, tmp_path: Path
) -> None:
    bench = bench_on(scripted_sandbox, shutil.copytree(recorded, tmp_path / "data"))
    before = bench.core.audit.verify(TESTER)
    bench.clock.move(-86_400)
    bench.core.annotations.tag(bench.core.ledger.page()[0].run_id, ["late"], [], TESTER)

    assert (before.set_back, bench.core.audit.verify(TESTER).set_back) == (0, before.last_number + 1)
