"""The audit: every change by whoever makes it, in a chain that nobody can change unseen."""

import hashlib
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import AisbenchError, LedgerBusy, NotAllowed, RunNotFound
from aisbench_core.config.credentials import Credentials
from aisbench_core.config.settings import Settings
from aisbench_core.domain.access.audit_entry import MOST_LETTERS, Act, ActOutcome
from aisbench_core.domain.access.guard import record_with
from aisbench_core.model import Actor, BudgetScope, Event, Level, Role, WayIn
from aisbench_core.store.audit.audit import AuditQuery
from aisbench_core.store.ledger import ledger_file
from aisbench_core.store.ledger.ledger_file import open_connection
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER
from tests.records import record, run, spec
from tests.team_ledger import IN_A_FILE
from tests.training_client import await_true

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANN = Actor("ann", frozenset({Role.ENGINEER}), WayIn.CONSOLE)


@pytest.fixture
def core(tmp_path: Path, ledger_url: str) -> Core:
    core = open_core(Settings(data_dir=tmp_path / "data", ledger=ledger_url))
    core.ledger.add(run("run-1", created_by="bob"), Event("run-1", START, WayIn.CLI, Level.INFO, "launched"))
    (core.settings.runs_dir / "run-1").mkdir(parents=True)
    return core


def acts(core: Core, **query: Any) -> list[Act]:
    return [entry.act for entry in core.audit.entries(AuditQuery(**query), TESTER, limit=1000)]


# --- what is recorded ----------------------------------------------------------------------------------------


@pytest.mark.every_store
def test_a_change_is_recorded_with_who_made_it_and_what_was_there_before(core: Core) -> None:
    core.annotations.tag("run-1", ["old"], [], TESTER)

    core.annotations.tag("run-1", ["new"], ["old"], ANN)

    (act, *_) = acts(core)
    assert act.detail.startswith("annotations ")
    assert replace(act, detail="") == Act(
        "ann", "engineer", "console", "run.tag", "run-1", ActOutcome.DONE, "old", "new"
    )


def test_verdicts_that_are_stored_are_recorded_by_their_hash_and_that_of_the_rules(core: Core) -> None:
    core.warehouse.record_many([record("run-1"), record("run-2")])
    found = core.warehouse.validate(BoardQuery("cn-north-9", ruleset_id="ieee-2937-2022", include_invalid=True))

    core.warehouse.store_evaluations(found, TESTER)

    (act,) = acts(core, change="validity.store")
    lines = "".join(f"{run.run_id} {run.validity} {run.failed_checks} {run.warned_checks}\n" for run in found.runs)
    verdicts = hashlib.sha256(lines.encode()).hexdigest()
    assert act.after == f"rules {core.rulesets.get(found.ruleset_id).sha256}, 2 verdicts {verdicts}"


def test_what_is_not_allowed_is_recorded(core: Core) -> None:
    with pytest.raises(NotAllowed):
        core.runs.stop("run-1", ANN)

    (refused,) = acts(core)
    assert (refused.outcome, refused.object) == (ActOutcome.REFUSED, "run-1")
    assert "needs the role lead" in refused.detail


def test_a_failed_try_is_recorded_with_its_error(core: Core) -> None:
    with pytest.raises(RunNotFound):
        core.runs.collect_again("run-9", TESTER)

    (failed,) = acts(core)
    assert failed.outcome is ActOutcome.FAILED
    assert "there is no run 'run-9'" in failed.detail


def test_of_a_bug_only_its_kind_is_recorded(core: Core) -> None:
    with pytest.raises(AttributeError):
        core.configs.save_keys("team", "secret-of-a-bug", TESTER)  # type: ignore[arg-type]

    (failed,) = acts(core)
    assert (failed.object, failed.outcome) == ("team", ActOutcome.FAILED)
    assert "secret-of-a-bug" not in repr(failed)


@IN_A_FILE
def test_keys_are_no_part_of_the_audit(core: Core) -> None:
    keys = Credentials.model_validate({"access_key": "CANARYACCESSKEY", "secret_key": "canary-secret-key"})

    core.configs.save_keys("team", keys, TESTER)

    assert [one.object for one in acts(core, change="keys.")] == ["team"]
    assert b"canary-secret-key" not in core.settings.ledger_path.read_bytes()


@pytest.mark.every_store
def test_steps_of_a_change_are_no_entries_of_their_own(core: Core) -> None:
    core.imports.add_demo(TESTER)
    core.imports.remove_demo(TESTER)

    of_people = [one.change for one in acts(core, excluded="seal.")]
    assert of_people == ["demo.remove", "demo.add"]
    assert {one.change for one in acts(core)} == {*of_people, "seal.recorded", "seal.folder_removed"}


def test_reading_the_audit_is_no_change_and_needs_an_admin(core: Core) -> None:
    lead = Actor("lead", frozenset({Role.VIEWER, Role.ENGINEER, Role.LEAD}), WayIn.CONSOLE)

    with pytest.raises(NotAllowed):
        core.audit.entries(AuditQuery(), lead)

    with pytest.raises(NotAllowed):
        core.audit.verify(lead)
    assert acts(core) == []


def test_long_values_are_cut_and_stay_on_one_line(core: Core) -> None:
    core.annotations.note("run-1", "one\ntwo " * 400, TESTER, None)

    (noted,) = acts(core)
    assert len(noted.after) == MOST_LETTERS
    assert "\n" not in noted.after


@IN_A_FILE
def test_who_waited_for_a_busy_ledger_does_not_wait_for_its_entry_as_well(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.2)
    is_answered = threading.Event()

    def record_later(act: Act) -> None:
        is_answered.wait(60)
        core.audit.record(act)

    record_with(record_later)
    with open_connection(core.settings.data_dir / "ledger.sqlite3") as con:
        con.execute("begin immediate")
        with pytest.raises(LedgerBusy, match="in use by other processes"):
            core.budgets.save({"scope": "person", "name": "ann", "amount": 5, "currency": "CNY"}, TESTER)
        con.execute("rollback")
    is_answered.set()

    await_true(lambda: bool(acts(core, change="budget.")), "the entry")
    [act] = acts(core, change="budget.")
    assert (act.outcome, act.detail) == (ActOutcome.FAILED, "the ledger is in use by other processes (try again)")


def test_a_budget_is_named_by_whose_it_is_whether_it_was_saved_refused_or_removed(core: Core) -> None:
    budget = {"scope": "person", "name": "ann", "amount": 500, "currency": "CNY"}
    core.budgets.save(budget, TESTER)
    with pytest.raises(AisbenchError):
        core.budgets.save(budget | {"amount": "five"}, TESTER)
    core.budgets.save({"scope": "everybody", "name": "", "amount": 9, "currency": "CNY"}, TESTER)
    core.budgets.remove(BudgetScope.PERSON, "ann", "CNY", TESTER)

    assert [one.object for one in reversed(acts(core, change="budget."))] == [
        "person ann", "person ann", "everybody", "person ann",
    ]  # fmt: skip


def test_what_has_no_id_of_its_own_is_named_by_what_the_permission_says(core: Core) -> None:
    core.warehouse.unmark_baseline("no-group", TESTER)
    with pytest.raises(AisbenchError):
        core.runs.launch(spec(flavor=""), "nowhere", TESTER)

    named = [one.object for one in reversed(acts(core, excluded="seal."))]
    assert named == ["no-group", "nowhere"]


@pytest.mark.every_store
@pytest.mark.parametrize(
    ("run_id", "stored"),
    [
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\ud800b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\x1b[31mb", "a\N{REPLACEMENT CHARACTER}[31mb"),
        ("a\nb", "a b"),
    ],
)
def test_characters_that_no_text_has_are_replaced_before_they_are_hashed(core: Core, run_id: str, stored: str) -> None:
    with pytest.raises(NotAllowed):
        core.approvals.approve(run_id, replace(ANN, roles=frozenset({Role.VIEWER}), read_only=True))

    assert [one.object for one in acts(core)] == [stored]
    assert core.audit.verify(TESTER).entries == 1


@pytest.mark.every_store
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"who": "ann"}, ["run.tag"]),
        ({"change": "run."}, ["run.rename", "run.tag"]),
        ({"change": "run_"}, []),
        ({"via": "cli"}, ["run.rename"]),
        ({"object": "run-"}, ["run.rename", "run.tag"]),
        ({"object": "un-1"}, []),
        ({"outcome": "refused"}, []),
        ({"who": "' or 1=1 --"}, []),
    ],
)
def test_filters_choose_entries(core: Core, query: dict[str, str], found: list[str]) -> None:
    core.annotations.tag("run-1", ["new"], [], ANN)
    core.annotations.rename("run-1", "best", TESTER)

    assert [one.change for one in acts(core, **query)] == found


# --- trouble ---------------------------------------------------------------------------------------------------


@IN_A_FILE
def test_a_change_stands_if_it_cannot_be_recorded(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    core.settings.ledger_path.unlink()
    core.settings.ledger_path.write_text("no database")

    core.warehouse.unmark_baseline("none", TESTER)

    assert "not in the audit" in caplog.text


@pytest.mark.parametrize("changes", [{"read_only": True}, {"roles": frozenset()}])
def test_who_may_change_nothing_is_recorded(core: Core, changes: dict[str, Any]) -> None:
    with pytest.raises(NotAllowed):
        core.storage.compact(replace(ANN, **changes))

    (refused,) = acts(core)
    assert (refused.change, refused.outcome) == ("warehouse.compact", ActOutcome.REFUSED)
