"""Run folders of two machines that share a ledger and a bucket, and no file system."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from aisbench_core.base.errors import CloudUnavailable, ConfigError, ResultError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.store.ledger.database.address import LedgerAddress
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.run_folders.cache import CacheLocks
from aisbench_core.store.run_folders.folders import RunFolders
from aisbench_core.store.run_folders.ledger import FileLedger, StaleFile
from aisbench_core.store.run_folders.parts import FolderPart
from aisbench_core.store.run_folders.published import PublishedFiles
from tests.published_machines import DIRECTORY, LOG, RUN, Bucket, Machine

pytestmark = [pytest.mark.postgres, pytest.mark.every_store]

NOTES = ["annotations.jsonl"]


@pytest.fixture
def ledger(ledger_location: Path | LedgerAddress) -> Ledger:
    """One for both, of each kind."""
    return Ledger(ledger_location)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


@pytest.fixture
def ann(tmp_path: Path, ledger: Ledger, bucket: Bucket) -> Machine:
    """The machine of Ann."""
    return Machine(tmp_path / "ann", ledger, bucket)


@pytest.fixture
def bob(tmp_path: Path, ledger: Ledger, bucket: Bucket) -> Machine:
    """The machine of Bob."""
    return Machine(tmp_path / "bob", ledger, bucket)


def test_what_one_publishes_the_other_fetches(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.write("record.json", b"{}")
    ann.write("empty.jsonl", b"")
    ann.write(LOG, b"step 1\n")
    ann.publish()

    assert bob.fetch() == []

    assert bob.read("record.json") == b"{}"
    assert bob.read("empty.jsonl") == b""
    assert bob.read(LOG) == b"step 1\n"
    assert (bob.folder / "record.json").stat().st_mode & 0o077 == 0
    before = bucket.sent
    ann.publish()
    assert bucket.sent == before, "what has not changed is not sent again"


def test_of_a_log_only_what_is_new_is_sent_and_fetched(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.append(LOG, b"x" * 3_000_000)
    ann.publish()
    bob.fetch()
    bucket.sent = bucket.read_bytes = 0

    for _ in range(20):
        ann.append(LOG, b"a line of the log\n")
        ann.publish()
        bob.fetch(FolderPart.LOGS)

    assert bob.read(LOG) == ann.read(LOG)
    assert bucket.sent < 5_000
    assert bucket.read_bytes < 5_000
    assert len(bucket.contents) < 12, "merged pieces are deleted"


def test_a_log_that_is_begun_anew_and_one_that_is_masked_later_arrive_whole(ann: Machine, bob: Machine) -> None:
    ann.append(LOG, b"first attempt\n" * 1000)
    ann.publish()
    bob.fetch()

    ann.write(LOG, b"second attempt\n")
    ann.publish()
    bob.fetch()
    anew = bob.read(LOG)
    ann.append(LOG, b"token=hun")
    ann.publish()
    bob.fetch()
    with (ann.folder / LOG).open("r+b") as log:  # the rest of the secret has come
        log.seek(-3, 2)
        log.write(b"******* accepted\n")
    ann.publish()
    bob.fetch()

    assert anew == b"second attempt\n"
    assert bob.read(LOG) == ann.read(LOG) == b"second attempt\ntoken=******* accepted\n"


def test_a_file_that_is_replaced_by_one_that_begins_like_it_arrives_whole(ann: Machine, bob: Machine) -> None:
    lines = [b"%d: a sample of a minute\n" % number for number in range(100_000)]
    ann.write("metrics.jsonl", b"".join(lines))
    ann.publish()
    bob.fetch()

    lines.insert(10, b"one that came late\n")
    ann.write("metrics.jsonl", b"".join(lines))
    ann.publish()
    bob.fetch()

    assert bob.read("metrics.jsonl") == b"".join(lines)


def test_of_two_writers_of_one_file_one_wins_and_the_other_learns_of_it(ann: Machine, bob: Machine) -> None:
    ann.write("progress.json", b"1")
    ann.write("job.json", b"{}")
    ann.publish()
    bob.fetch()
    ann.write("progress.json", b"22")
    bob.write("progress.json", b"333")
    bob.write("job.json", b"of bob")
    ann.publish()

    with pytest.raises(StaleFile, match=r"progress\.json"):
        bob.publish()

    assert bob.read("progress.json") == b"333", "nothing is lost here"
    assert bob.fetch(FolderPart.RECORD) == []
    ann.fetch()
    assert (bob.read("progress.json"), bob.read("job.json")) == (b"22", b"of bob")
    assert ann.read("job.json") == b"{}", "a refused publication publishes nothing"
    bob.publish()
    ann.fetch()
    assert ann.read("job.json") == b"of bob", "and nothing is lost by it"


def test_files_of_a_follower_and_of_people_do_not_hinder_each_other(ann: Machine, bob: Machine) -> None:
    ann.write("launch.json", b"{}")
    ann.publish()
    bob.fetch()

    for number in range(3):
        bob.append(LOG, b"step\n")
        bob.publish()
        ann.folders.update(RUN, NOTES, lambda: ann.append("annotations.jsonl", b"note\n"))
        bob.append(LOG, b"step\n")
        bob.publish()
        bob.folders.update(RUN, NOTES, lambda: bob.append("annotations.jsonl", b"of bob\n"))
        assert number >= 0
    ann.fetch()

    assert ann.read("annotations.jsonl") == bob.read("annotations.jsonl") == b"note\nof bob\n" * 3
    assert ann.read(LOG) == b"step\n" * 6


def test_a_note_that_meets_another_one_is_written_again_on_it(ann: Machine, bob: Machine) -> None:
    ann.write("annotations.jsonl", b"first\n")
    ann.publish()
    written: list[int] = []

    def write() -> None:
        if not written:  # Bob is quicker
            bob.folders.update(RUN, NOTES, lambda: bob.append("annotations.jsonl", b"of bob\n"))
        written.append(1)
        ann.append("annotations.jsonl", b"of ann\n")

    ann.folders.update(RUN, NOTES, write)

    assert len(written) == 2
    assert ann.read("annotations.jsonl") == b"first\nof bob\nof ann\n"
    bob.fetch()
    assert bob.read("annotations.jsonl") == b"first\nof bob\nof ann\n"


def test_readers_leave_what_was_written_here_and_not_published(ann: Machine, bob: Machine) -> None:
    ann.append(LOG, b"one\n")
    ann.publish()
    ann.append(LOG, b"two\n")

    ann.folders.read(RUN, FolderPart.LOGS)

    assert ann.read(LOG) == b"one\ntwo\n"
    ann.publish()
    bob.fetch()
    assert bob.read(LOG) == b"one\ntwo\n"


@pytest.mark.parametrize("damage", ["missing", "shorter", "other bytes"])
def test_a_damaged_object_is_one_clear_error_and_hides_nothing_else(
    ann: Machine, bob: Machine, bucket: Bucket, damage: str
) -> None:
    ann.write("record.json", b'{"a": 1}')
    ann.write("launch.json", b"{}")
    ann.publish()
    path = next(path for path in bucket.contents if "record.json" in path)
    match damage:
        case "missing":
            del bucket.contents[path]
        case "shorter":
            bucket.contents[path] = b"{}"
        case _:
            bucket.contents[path] = b'{"b": 1}'

    folder = bob.folders.read(RUN)

    problem = bob.folders.problem(RUN)
    assert not folder.record.exists()
    assert folder.launch.read_bytes() == b"{}"
    assert problem is not None
    assert f"record.json of run {RUN} cannot be fetched from {path}" in str(problem)
    assert [type(error) for error in bob.fetch()] == [ResultError]
    with pytest.raises(ResultError):
        bob.folders.update(RUN, ["record.json"], lambda: None)
    ann.write("record.json", b'{"a": 2}')
    ann.publish()
    assert bob.fetch() == [], "a new version heals it"
    assert bob.read("record.json") == b'{"a": 2}'


def test_a_file_that_is_removed_goes_everywhere(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.write("system.json", b"{}")
    ann.append(LOG, b"one\n")
    ann.publish()
    bob.fetch()

    (ann.folder / "system.json").unlink()
    ann.folders.remove(RUN, ["system.json"])
    bob.fetch()
    ann.fetch()

    assert ann.read("system.json") is bob.read("system.json") is None
    assert bob.read(LOG) == b"one\n"
    assert [path for path in bucket.contents if "system.json" in path] == []
    ann.write("system.json", b'{"again": 1}')
    ann.publish()
    bob.fetch()
    assert bob.read("system.json") == b'{"again": 1}'


def test_a_folder_that_somebody_deletes_here_is_fetched_again(ann: Machine, bob: Machine) -> None:
    ann.write("record.json", b"{}")
    ann.append(LOG, b"one\n")
    ann.publish()
    bob.fetch()

    for file in [bob.folder / LOG, *bob.folder.glob("*.json")]:
        file.unlink()
    bob.publish()
    bob.fetch()

    assert (bob.read("record.json"), bob.read(LOG)) == (b"{}", b"one\n")


def test_a_folder_that_was_copied_here_is_not_fetched_again(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.write("record.json", b"{}")
    ann.publish()
    bob.write("record.json", b"{}")

    assert bob.fetch() == []
    bob.publish()

    assert bucket.read_bytes == 0
    assert len(bucket.contents) == 1


def test_without_a_connection_people_see_what_is_here_and_why(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.append(LOG, b"one\n")
    ann.publish()
    bob.folders.read(RUN, FolderPart.LOGS)
    bucket.is_away = True
    ann.append(LOG, b"two\n")
    with pytest.raises(CloudUnavailable):
        ann.publish()
    bob.folders._fresh.clear()
    before = bob.folders.problem(RUN, FolderPart.LOGS)

    bucket.is_away = False
    ann.publish()
    bucket.is_away = True
    bob.folders.read(RUN, FolderPart.LOGS)

    assert before is None
    assert bob.read(LOG) == b"one\n"
    assert "no route to host" in str(bob.folders.problem(RUN, FolderPart.LOGS))
    bucket.is_away = False
    assert bob.fetch() == []
    assert bob.read(LOG) == b"one\ntwo\n"


def test_after_a_kill_between_sending_and_storing_nothing_is_wrong(ann: Machine, bob: Machine, bucket: Bucket) -> None:
    ann.append(LOG, b"one\n")
    ann.publish()
    killed = f"{DIRECTORY}{RUN}/{LOG}~2-0-8-{'0' * 32}"
    bucket.contents[killed] = b"one\ntwo\n"

    ann.folders.clear(RUN)
    stays = killed in bucket.contents
    ann.append(LOG, b"two\n")
    ann.publish()
    ann.folders.clear(RUN)

    bob.fetch()
    assert stays, "its writer may be about to store it"
    assert killed not in bucket.contents
    assert bob.read(LOG) == b"one\ntwo\n"


def test_rows_of_a_lost_ledger_are_found_in_the_bucket(
    ann: Machine, tmp_path: Path, bucket: Bucket, ledger: Ledger
) -> None:
    for size in range(1, 40):
        ann.append(LOG, b"line %d\n" % size)
        ann.write("record.json", b"%d" % size)
        ann.publish()
    with ledger.transaction() as con:
        con.execute("delete from run_files")

    third = Machine(tmp_path / "third", ledger, bucket)
    found = list(third.folders.fetch_all())

    assert found == []
    assert third.read("record.json") == b"39"
    assert third.read(LOG) is None, "a rebuild needs no logs"
    assert third.fetch() == []
    assert third.read(LOG) == ann.read(LOG)
    assert third.published.find() == 0


def test_a_console_without_keys_says_what_is_needed(tmp_path: Path, ledger: Ledger, ann: Machine) -> None:
    ann.write("record.json", b"{}")
    ann.publish()

    def no_keys() -> NoReturn:
        raise ConfigError(make_verbatim("no keys were found for profile lab"), make_verbatim("set AISBENCH_AK"))

    folder = tmp_path / "without"
    published = PublishedFiles(folder / "runs", DIRECTORY, FileLedger(ledger), no_keys, CacheLocks(folder / "locks"))
    folders = RunFolders(folder / "runs", published)

    assert not folders.read(RUN).record.exists()
    assert "no keys were found" in str(folders.problem(RUN))
    with pytest.raises(ConfigError, match="set AISBENCH_AK"):
        folders.update(RUN, NOTES, lambda: pytest.fail("nothing is written"))


def test_a_writer_waits_for_its_turn_and_says_who_has_it(ledger: Ledger, bucket: Bucket, tmp_path: Path) -> None:
    ann = Machine(tmp_path / "ann", ledger, bucket, patience=0.05)
    others = CacheLocks(tmp_path / "ann" / "publishing")

    with others.turn(RUN) as theirs, pytest.raises(CloudUnavailable, match="by another process"):
        ann.folders.update(RUN, NOTES, lambda: pytest.fail("nothing is written"))

    assert theirs
    assert ann.folders.update(RUN, NOTES, lambda: 7) == 7


def test_processes_of_one_machine_and_another_one_write_and_read_at_the_same_time(ann: Machine, bob: Machine) -> None:
    """A follower and a console on Ann's machine, a console on Bob's, and readers of both."""
    ann.write("launch.json", b"{}")
    ann.publish()
    console = Machine(ann.folder.parents[1], ann.published.rows.ledger, ann.published.objects())
    rounds = 30

    def follow() -> None:
        for number in range(rounds):
            ann.append(LOG, b"step %d\n" % number)
            ann.write("metrics.jsonl", b"x" * number)
            ann.publish()

    def note(machine: Machine, text: bytes) -> None:
        for _ in range(rounds):
            machine.folders.update(RUN, NOTES, lambda: machine.append("annotations.jsonl", text))

    def read(machine: Machine) -> None:
        for _ in range(rounds):
            machine.folders._fresh.clear()
            machine.folders.read(RUN, *FolderPart)
            assert b"step %d\n" % rounds not in (machine.read(LOG) or b"")

    with ThreadPoolExecutor(5) as pool:
        jobs = [pool.submit(follow), pool.submit(note, console, b"of ann\n"), pool.submit(note, bob, b"of bob\n")]
        jobs += [pool.submit(read, console), pool.submit(read, bob)]
        for job in jobs:
            job.result()
    ann.publish()
    bob.fetch()
    ann.fetch()

    assert bob.read(LOG) == ann.read(LOG) == b"".join(b"step %d\n" % number for number in range(rounds))
    assert bob.read("metrics.jsonl") == b"x" * (rounds - 1)
    for machine in (ann, bob):
        assert (
            sorted((machine.read("annotations.jsonl") or b"").splitlines())
            == [b"of ann"] * rounds + [b"of bob"] * rounds
        )
    assert console.folders.problem(RUN) is bob.folders.problem(RUN) is None
