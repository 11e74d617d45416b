"""Seals of run folders in ledgers of each kind, with folders on this machine and published ones."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from aisbench_core.base.clock import utc_now
from aisbench_core.base.errors import ResultError, StaleRun
from aisbench_core.domain.results.record import write_record
from aisbench_core.model import RunRecord
from aisbench_core.store.audit.audit import Audit, AuditQuery
from aisbench_core.store.audit.audit_heads import AuditHeads
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.seals.comparing import Recording, SealComparing
from aisbench_core.store.seals.service import BATCH, Seals
from tests import records as a
from tests.actors import TESTER
from tests.published_machines import LOG, RUN, Bucket, Machine


class DisturbedLedger(Ledger):
    """Does something before its next transaction begins, as somebody else might."""

    meanwhile: Callable[[], object] | None = None

    def transaction(self) -> AbstractContextManager[LedgerConnection]:
        work, self.meanwhile = self.meanwhile, None
        if work:
            work()
        return super().transaction()


@dataclass
class Console:
    """The seals of a console, and what it finds of one run."""

    ledger: Ledger
    folders: RunFolders
    heads: AuditHeads

    def describe(self, content: bytes | None) -> None:
        """Change the system description of the run, as a person does; None removes it."""
        file = self.folders.path(RUN).path / "system.json"
        with self.seals.seal_changes(RUN, ["system.json"], TESTER):
            file.unlink() if content is None else file.write_bytes(content)
            self.folders.publish(RUN)

    @property
    def audit(self) -> Audit:
        return Audit(self.ledger, 0, utc_now, self.heads)

    @property
    def seals(self) -> Seals:
        return Seals(self.ledger, self.folders, self.audit, utc_now)

    def write(self, record: RunRecord) -> Path:
        folder = self.folders.path(record.run.run_id)
        write_record(record, folder.record, folder.metrics, folder.events)
        return folder.path

    def found(self, record: RunRecord, *, whole: bool = True) -> tuple[Recording, str]:
        comparing = SealComparing(self.ledger, self.folders, lambda _: None, are_all_here=True)
        with comparing.open_runs() as sealed:
            comparison = sealed.compare(record, whole=whole)
        return comparison.recording, str(comparison.error.message) if comparison.error else ""

    def missing(self) -> list[str]:
        comparing = SealComparing(self.ledger, self.folders, lambda _: None, are_all_here=True)
        with comparing.open_runs() as sealed:
            return [run_id for run_id, _ in sealed.find_missing()]


@pytest.fixture
def console(tmp_path: Path, ledger_location: Path | LedgerAddress) -> Console:
    return Console(
        DisturbedLedger(ledger_location), RunFolders(tmp_path / "runs"), AuditHeads(tmp_path / "heads.json", "")
    )


SEALED, RECORD = (Recording.SEALED, ""), a.record("run-1")


@pytest.mark.every_store
def test_a_folder_is_as_it_was_sealed_or_named(console: Console) -> None:
    folder = console.write(RECORD)
    assert console.found(RECORD) == (Recording.UNKNOWN, "")

    console.seals.seal_recorded(["run-1"])

    assert console.found(RECORD) == SEALED
    (folder / "record.json").write_bytes((folder / "record.json").read_bytes() + b" ")
    assert console.found(RECORD)[1] == "files differ from what was recorded: record.json (changed)"
    assert console.missing() == []
    (folder / "record.json").unlink()
    assert console.missing() == ["run-1"]


def test_a_repeated_step_seals_once(console: Console) -> None:
    console.write(RECORD)
    for _ in range(3):
        console.seals.seal_recorded(["run-1"])

    assert console.audit.count(AuditQuery(), TESTER) == 1
    assert console.audit.verify(TESTER).last_number == 1


def test_many_folders_are_sealed_in_few_transactions(console: Console) -> None:
    records = [a.record(f"run-{number}") for number in range(BATCH + 1)]
    for record in records:
        console.write(record)

    console.seals.seal_recorded([record.run.run_id for record in records], TESTER)

    assert {console.found(record) for record in (records[0], records[-1])} == {SEALED}
    assert console.audit.verify(TESTER).entries == BATCH + 1
    console.seals.remove_folders([record.run.run_id for record in records], TESTER)
    assert console.found(records[0])[1].startswith("was removed by tester at ")
    assert console.missing() == []


def test_a_record_that_contradicts_the_ledger_is_refused(console: Console) -> None:
    console.ledger.add(replace(RECORD.run, job_id="job-of-another", version=0))
    console.write(RECORD)

    assert console.found(RECORD) == (Recording.BEFORE_SEALS, "the record differs from the ledger: job_id")


@pytest.mark.every_store
def test_a_seal_that_is_older_than_the_audit_says_is_refused(console: Console) -> None:
    folder = console.write(RECORD)
    console.seals.seal_recorded(["run-1"])
    earlier = dict(console.ledger.rows("select * from seals")[0])
    with console.seals.seal_changes("run-1", ["record.json"], TESTER):
        content = (folder / "record.json").read_bytes()
        (folder / "record.json").write_bytes(content + b"\n")
    assert console.found(RECORD) == SEALED

    (folder / "record.json").write_bytes(content)
    with console.ledger.transaction() as con:
        con.execute("update seals set files = ?, entry = ?", [earlier["files"], earlier["entry"]])

    assert console.found(RECORD)[1] == "its seal in the ledger is not the one that the audit names"


def two_machines(
    ledger: Ledger, folder: Path, bucket: Bucket | None = None
) -> tuple[Machine, Machine, Console, Console]:
    """Two that share a bucket, and the consoles on them."""
    shared = bucket or Bucket()
    here, there = (Machine(folder / name, ledger, shared) for name in "ab")
    first, other = (
        Console(ledger, machine.folders, AuditHeads(folder / f"{name}.json", ""))
        for name, machine in (("a", here), ("b", there))
    )
    return here, there, first, other


def test_published_folders_are_compared_without_fetching_their_logs(ledger: Ledger, tmp_path: Path) -> None:
    record = a.record(RUN)
    here, there, first, other = two_machines(ledger, tmp_path)
    first.write(record)
    here.write(LOG, b"step 1\n" * 1000)
    first.seals.seal_recorded([RUN])
    here.publish()

    assert there.fetch(FolderPart.RECORD) == []
    assert other.found(record) == SEALED
    assert there.read(LOG) is None
    there.write("record.json", b"{}")
    assert other.found(record, whole=False)[1].endswith("recorded: record.json (changed)")
    here.append(LOG, b"step 2\n")
    here.publish()
    assert other.found(record)[1].endswith(f"recorded: {LOG} (changed), record.json (changed)")


def test_a_published_folder_without_a_seal_is_sealed_with_its_logs_or_not_at_all(
    ledger: Ledger, tmp_path: Path
) -> None:
    record, bucket = a.record(RUN), Bucket()
    here, there, first, other = two_machines(ledger, tmp_path, bucket)
    first.write(record)
    here.write(LOG, b"step 1\n")
    here.publish()
    path = next(path for path in bucket.contents if LOG in path)
    content = bucket.contents.pop(path)
    there.fetch(FolderPart.RECORD)

    (left,) = other.seals.seal_found([RUN], TESTER, lambda _: None).items()

    assert (left[0], LOG in left[1].message) == (RUN, True)
    assert first.found(record) == (Recording.UNKNOWN, "")
    bucket.contents[path] = content
    assert other.seals.seal_found([RUN], TESTER, lambda _: None) == {}
    assert (first.found(record), other.found(record)) == (SEALED, SEALED)
    here.append(LOG, b"step 2\n")
    here.publish()
    assert other.found(record)[1].endswith(f"recorded: {LOG} (changed)")


def test_a_folder_that_is_edited_while_it_is_read_is_not_sealed(console: Console) -> None:
    folder = console.write(RECORD)

    def read_and_edit(_: str) -> None:
        (folder / "record.json").write_bytes((folder / "record.json").read_bytes() + b" ")

    left = console.seals.seal_found(["run-1"], TESTER, read_and_edit)

    assert [str(error) for error in left.values()] == [
        "files differ from what was recorded: record.json (it was changed while it was checked: check it again)"
    ]
    assert console.found(RECORD) == (Recording.UNKNOWN, "")
    assert console.seals.seal_found(["run-1"], TESTER, lambda _: None) == {}
    assert console.found(RECORD) == SEALED


def encrypted(path: str, bucket: Bucket) -> None:
    bucket.etags[path] = "0" * 32


def replaced(path: str, bucket: Bucket) -> None:
    bucket.contents[path] = bucket.contents[path][::-1]


def deleted(path: str, bucket: Bucket) -> None:
    bucket.contents.pop(path)


@pytest.mark.parametrize(("change", "is_named"), [(encrypted, False), (replaced, True), (deleted, True)])
def test_objects_of_logs_are_compared_where_they_are(
    ledger: Ledger, tmp_path: Path, change: Callable[[str, Bucket], None], is_named: bool
) -> None:
    record, bucket = a.record(RUN), Bucket()
    here, there, first, other = two_machines(ledger, tmp_path, bucket)
    first.write(record)
    here.write(LOG, b"step 1\n" * 1000)
    first.seals.seal_recorded([RUN])
    here.publish()
    there.fetch(FolderPart.RECORD)
    path = next(path for path in bucket.contents if LOG in path)

    change(path, bucket)

    assert other.found(record)[1].endswith(f"recorded: {LOG} (changed)") is is_named
    assert other.found(record, whole=False) == SEALED
    assert there.read(LOG) is None


@pytest.mark.parametrize("content", [b"{}", None])
def test_a_description_that_is_changed_while_a_follower_hashes_is_sealed_as_it_is(
    console: Console, content: bytes | None
) -> None:
    record = a.record(RUN)
    folder = console.write(record)
    (folder / "system.json").write_bytes(b"{ }")
    console.seals.seal_launched(RUN, TESTER)
    assert isinstance(console.ledger, DisturbedLedger)
    console.ledger.meanwhile = lambda: console.describe(content)

    with pytest.raises(StaleRun):
        console.seals.seal_recorded([RUN])
    console.seals.begin_collecting(RUN)
    console.seals.seal_recorded([RUN])

    assert console.found(record) == SEALED
    (folder / "system.json").write_bytes(b"[]")
    assert "system.json" in console.found(record)[1]


def test_a_description_that_another_machine_changed_is_fetched_before_a_follower_seals(
    ledger: Ledger, tmp_path: Path
) -> None:
    here, there, edited, followed = two_machines(ledger, tmp_path)
    record = a.record(RUN)
    edited.write(record)
    here.write("system.json", b"{ }")
    edited.seals.seal_launched(RUN, TESTER)
    here.publish()
    there.fetch()
    edited.describe(b"{}")

    with pytest.raises(StaleRun):
        followed.seals.seal_recorded([RUN])
    there.fetch()
    followed.seals.begin_collecting(RUN)
    followed.seals.seal_recorded([RUN])

    assert (edited.found(record), followed.found(record)) == (SEALED, SEALED)


def test_a_description_that_is_being_changed_while_a_follower_seals_is_not_named(console: Console) -> None:
    record = a.record(RUN)
    folder = console.write(record)
    console.seals.seal_launched(RUN, TESTER)

    with console.seals.seal_changes(RUN, ["system.json"], TESTER):
        console.seals.seal_recorded([RUN])
        (folder / "system.json").write_bytes(b"{}")
        assert console.found(record) == SEALED

    assert console.found(record) == SEALED
    (folder / "system.json").write_bytes(b"[]")
    assert console.found(record)[1].endswith("recorded: system.json (changed)")


def test_what_a_collecting_wrote_that_was_given_up_is_not_named_but_a_changed_result_is(console: Console) -> None:
    folder = console.write(RECORD)
    (folder / "logs").mkdir()
    (folder / "logs" / "worker-0.log").write_bytes(b"step 1\n")
    console.seals.seal_recorded(["run-1"])

    console.seals.begin_collecting("run-1")
    (folder / "logs" / "worker-0.log").write_bytes(b"step 1\nstep 2\n")
    for name in ("metrics.jsonl", "cards.jsonl", "job.json"):
        (folder / name).write_bytes(b"{}\n")

    assert console.found(RECORD) == SEALED
    content = (folder / "record.json").read_bytes()
    (folder / "record.json").write_bytes(content + b"\n")
    assert console.found(RECORD)[1].endswith("recorded: record.json (changed)")
    (folder / "record.json").write_bytes(content)
    console.seals.seal_recorded(["run-1"])
    (folder / "job.json").write_bytes(b"[]\n")
    assert console.found(RECORD)[1].endswith("recorded: job.json (changed)")


def test_a_record_that_is_edited_before_it_is_sealed_is_written_anew(console: Console) -> None:
    folder = console.write(RECORD)
    honest = (folder / "record.json").read_bytes()
    console.seals.seal_launched("run-1", TESTER)
    console.seals.begin_collecting("run-1")
    console.seals.expect("run-1", {"record.json": honest})
    (folder / "record.json").write_bytes(honest + b" ")

    with pytest.raises(StaleRun):
        console.seals.seal_recorded(["run-1"])
    (folder / "record.json").write_bytes(honest)
    console.seals.seal_recorded(["run-1"])

    assert console.found(RECORD) == SEALED


def resolve(console: Console, folder: Path, content: bytes) -> None:
    with console.seals.seal_resolved("run-1", content):
        (folder / "resolved.json").write_bytes(content)


def test_what_names_stood_for_is_believed_as_the_follower_wrote_it_last(console: Console) -> None:
    folder = console.write(RECORD)
    console.seals.seal_launched("run-1", TESTER)
    resolve(console, folder, b"{}")
    resolve(console, folder, b"{ }")
    console.seals.begin_collecting("run-1")

    (folder / "resolved.json").write_bytes(b"{}")

    with pytest.raises(ResultError, match=r"recorded: resolved\.json \(changed\)"):
        console.seals.begin_collecting("run-1")
    with pytest.raises(StaleRun):
        console.seals.seal_recorded(["run-1"])


def test_what_names_stood_for_is_not_believed_without_a_seal(console: Console) -> None:
    folder = console.write(RECORD)
    console.seals.seal_launched("run-1", TESTER)
    (folder / "resolved.json").write_bytes(b"{}")
    with pytest.raises(StaleRun):
        console.seals.seal_recorded(["run-1"])
    console.seals.begin_collecting("run-1")
    console.seals.seal_recorded(["run-1"])

    assert not (folder / "resolved.json").exists()
    assert console.found(RECORD) == SEALED


def test_what_names_stand_for_is_not_believed_of_a_killed_follower(console: Console) -> None:
    folder = console.write(RECORD)
    console.seals.seal_launched("run-1", TESTER)
    resolve(console, folder, b"{}")
    with suppress(KeyboardInterrupt), console.seals.seal_resolved("run-1", b"{ }"):
        (folder / "resolved.json").write_bytes(b"{ }")
        raise KeyboardInterrupt

    console.seals.begin_collecting("run-1")

    assert not (folder / "resolved.json").exists()
    resolve(console, folder, b"{ }")
    console.seals.begin_collecting("run-1")
    assert (folder / "resolved.json").exists()


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    return Ledger(ledger_location)
