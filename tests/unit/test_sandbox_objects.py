"""The sandbox's objects: files on disk that behave like OBS, whatever their keys look like."""

import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_sandbox.obs.storage.metadata import MetadataJournal, ObjectMetadata
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError

BUCKET = "bench"


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    store = Objects(tmp_path / "obs")
    store.create_bucket(BUCKET)
    return store


def all_keys(objects: Objects, page: int = 1000, **query: str) -> list[str]:
    keys: list[str] = []
    marker = ""
    while True:
        listing = objects.list(BUCKET, marker=marker, max_keys=page, **query)
        keys += [stat.key for stat in listing.objects]
        if not listing.truncated:
            return keys
        marker = listing.next_marker


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def files_below(folder: Path) -> list[Path]:
    return [Path(top) / name for top, _, names in os.walk(folder) for name in names]


def test_a_file_that_a_person_changed_has_the_etag_of_its_new_bytes(objects: Objects) -> None:
    objects.put(BUCKET, "a", b"before", {"Content-Type": "text/plain"})
    (objects.root / BUCKET / "a").write_bytes(b"afterwards")

    stat = objects.head(BUCKET, "a")

    assert stat is not None
    assert (stat.etag, stat.headers) == (md5(b"afterwards"), {})


def test_a_new_store_on_the_same_folder_knows_everything_but_what_was_half_received(objects: Objects) -> None:
    objects.put(BUCKET, "a", b"1", {"Content-Type": "text/plain", "x-obs-meta-run": "7"})
    half = objects.stage()
    half.__enter__().write(b"never finished")

    again = Objects(objects.root)

    assert again.head(BUCKET, "a") == objects.head(BUCKET, "a")
    assert all_keys(again) == ["a"]
    assert not half.path.exists()
    half.__exit__(None, None, None)


def test_a_note_of_an_object_that_a_crash_kept_from_coming_into_being_changes_nothing(objects: Objects) -> None:
    before = objects.put(BUCKET, "a", b"old", {"content-type": "text/plain"})
    never_renamed = objects.root / "draft"
    never_renamed.write_bytes(b"newer")
    MetadataJournal(objects.root / ".notes.jsonl").add(
        BUCKET, "a", never_renamed.stat(), ObjectMetadata("etag of newer")
    )

    assert Objects(objects.root).head(BUCKET, "a") == before


def test_a_journal_cut_short_by_a_crash_loses_only_its_last_line(objects: Objects) -> None:
    before = [objects.put(BUCKET, key, b"", {"content-type": "text/plain"}) for key in ("a", "b")]
    journal = objects.root / ".notes.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])

    again = Objects(objects.root)

    assert again.head(BUCKET, "a") == before[0]
    assert again.head(BUCKET, "b") == replace(before[1], headers={})  # its bytes tell its ETag


def test_the_journal_does_not_grow_for_ever(tmp_path: Path) -> None:
    journal = tmp_path / "notes.jsonl"
    facts = tmp_path.stat()
    notes = MetadataJournal(journal)
    for number in range(10_500):
        notes.add(BUCKET, "log", facts, ObjectMetadata(str(number)))
    notes.add(BUCKET, "gone", facts, ObjectMetadata("0"))
    notes.drop(BUCKET, "gone")
    length = len(journal.read_text().splitlines())

    again = MetadataJournal(journal)

    assert length < 1000
    assert len(journal.read_text().splitlines()) == 1
    assert again.find(BUCKET, "log", facts) == ObjectMetadata("10499")
    assert again.find(BUCKET, "gone", facts) is None


def test_an_append_needs_the_right_position(objects: Objects) -> None:
    objects.append(BUCKET, "log", 0, b"one\n")
    objects.append(BUCKET, "log", 4, b"two\n")

    with pytest.raises(ObjectError, match="position") as refused:
        objects.append(BUCKET, "log", 4, b"again")

    assert refused.value.code == "PositionNotEqualToLength"
    assert objects.read(BUCKET, "log") == b"one\ntwo\n"
    assert objects.read(BUCKET, "log", start=4) == b"two\n"
    assert objects.read(BUCKET, "log", start=1, end=3) == b"ne"
    assert objects.read(BUCKET, "log", start=8) == b""


def test_an_open_object_stays_what_it_was_while_another_replaces_it(objects: Objects) -> None:
    objects.put(BUCKET, "a", b"first")
    with objects.open(BUCKET, "a") as (stat, file):
        objects.put(BUCKET, "a", b"second one")

        assert (stat.size, file.read()) == (5, b"first")


def test_readers_never_meet_a_mixture_while_many_threads_write_one_key(objects: Objects) -> None:
    bodies = [bytes([65 + number]) * (1000 + number) for number in range(8)]
    etags = {md5(body) for body in bodies}
    objects.put(BUCKET, "a", bodies[0])
    threads = [
        threading.Thread(target=lambda body=body: [objects.put(BUCKET, "a", body) for _ in range(25)])
        for body in bodies
    ]

    for thread in threads:
        thread.start()
    looks = []
    while any(thread.is_alive() for thread in threads):
        with objects.open(BUCKET, "a") as (stat, file):
            looks.append((stat.etag, md5(file.read())))

    assert all(stated == real and real in etags for stated, real in looks)


def test_only_an_empty_bucket_can_be_deleted(objects: Objects) -> None:
    objects.put(BUCKET, "deep/down/a", b"1")
    with pytest.raises(ObjectError, match="not empty"):
        objects.delete_bucket(BUCKET)
    objects.delete(BUCKET, "deep/down/a")

    objects.delete_bucket(BUCKET)

    assert objects.buckets() == ()


@pytest.mark.slow
def test_a_killed_process_leaves_every_object_whole_with_its_etag_and_headers(tmp_path: Path) -> None:
    Objects(tmp_path).create_bucket(BUCKET)
    confirmed = 0
    for life in range(10):
        with subprocess.Popen([sys.executable, "-c", WRITES_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            for _ in range(20 + 7 * life):
                confirmed = max(confirmed, int(writer.stdout.readline()))
            writer.kill()

        stored = Objects(tmp_path).list(BUCKET).objects
        contents = [Objects(tmp_path).read(BUCKET, stat.key) for stat in stored]
        assert [stat.etag for stat in stored] == [md5(content) for content in contents]
        assert [stat.headers for stat in stored] == [{"x-obs-meta-number": text_of(content)} for content in contents]
        assert max(int(text_of(content)) for content in contents) >= confirmed


WRITES_FOR_EVER = """
import itertools, pathlib, sys
from aisbench_sandbox.obs.storage.objects import Objects
objects = Objects(pathlib.Path(sys.argv[1]))
first = max([int(s.headers["x-obs-meta-number"]) for s in objects.list("bench").objects], default=0) + 1
for number in itertools.count(first):
    body = str(number).encode().ljust(8) * (1000 + number % 5)
    objects.put("bench", f"key-{number % 3}", body, {"x-obs-meta-number": str(number)})
    print(number, flush=True)
"""


def text_of(content: bytes) -> str:
    (word,) = set(content.split())
    return word.decode()


@pytest.mark.slow
def test_a_process_killed_while_it_appends_and_joins_leaves_only_whole_additions(tmp_path: Path) -> None:
    Objects(tmp_path).create_bucket(BUCKET)
    for life in range(4):
        with subprocess.Popen([sys.executable, "-c", GROWS_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            for _ in range(5 + 6 * life):
                writer.stdout.readline()
            writer.kill()

        objects = Objects(tmp_path)
        log, joined = (objects.head(BUCKET, key) for key in ("log", "joined"))
        assert log
        assert joined
        assert (log.size % GROWS_BY, log.etag) == (0, md5(objects.read(BUCKET, "log")))
        assert joined.etag.endswith("-2")
        assert len(set(objects.read(BUCKET, "joined"))) == 1
        assert files_below(tmp_path / ".drafts") == []


GROWS_BY = 200_000
GROWS_FOR_EVER = f"""
import itertools, pathlib, sys
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.uploads import Uploads
objects = Objects(pathlib.Path(sys.argv[1]))
uploads = Uploads(objects)
stat = objects.head("bench", "log")
size = stat.size if stat else 0
for number in itertools.count():
    size = objects.append("bench", "log", size, bytes([number % 256]) * {GROWS_BY}).size
    upload_id = uploads.start("bench", "joined", {{}})
    wanted = []
    for part in (1, 2):
        with objects.stage() as staged:
            staged.write(bytes([number % 256]) * {GROWS_BY})
            wanted.append((part, uploads.part("bench", "joined", upload_id, part, staged)))
    uploads.complete("bench", "joined", upload_id, wanted)
    print(number, flush=True)
"""
