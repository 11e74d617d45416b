"""What moves between the sandbox's OBS and a node, byte by byte."""

from pathlib import Path

import pytest

from aisbench_sandbox.engine.node.container import ContainerView
from aisbench_sandbox.engine.node.links import find_source
from aisbench_sandbox.engine.node.transfers import NodeLog, OutputSync, TransferError, download_folder
from aisbench_sandbox.obs.storage.objects import Objects
from aisbench_sandbox.obs.storage.stored import ObjectError


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    objects = Objects(tmp_path / "obs")
    objects.create_bucket("bench")
    return objects


def test_a_directory_is_downloaded_with_its_folders(objects: Objects, tmp_path: Path) -> None:
    objects.put("bench", "code/train.py", b"boot")
    objects.put("bench", "code/lib/", b"")
    objects.put("bench", "code/lib/deep/a.txt", b"a")
    objects.put("bench", "code2/other.txt", b"not meant")

    count = download_folder(objects, "/bench/code/", tmp_path / "here")

    assert count == 2
    found = {str(file.relative_to(tmp_path / "here")) for file in (tmp_path / "here").rglob("*") if file.is_file()}
    assert found == {"train.py", "lib/deep/a.txt"}


def test_one_object_is_downloaded_under_its_name(objects: Objects, tmp_path: Path) -> None:
    objects.put("bench", "models/bert.ckpt", b"weights")

    download_folder(objects, "obs://bench/models/bert.ckpt", tmp_path)

    assert (tmp_path / "bert.ckpt").read_bytes() == b"weights"


@pytest.mark.parametrize("key", ["code/../../escape.txt", "code//absolute.txt"])
def test_an_object_whose_name_would_leave_the_node_is_refused(objects: Objects, tmp_path: Path, key: str) -> None:
    objects.put("bench", key, b"x")

    with pytest.raises(TransferError, match="has no name on a node"):
        download_folder(objects, "/bench/code/", tmp_path / "here" / "and" / "there")


@pytest.mark.parametrize("path", ["/bench/nothing/", "/bench/nothing.txt", "/no-bucket/a/"])
def test_nothing_to_download_is_an_error_that_names_the_path(objects: Objects, tmp_path: Path, path: str) -> None:
    with pytest.raises(TransferError, match=path):
        download_folder(objects, path, tmp_path)


def test_outputs_are_copied_when_they_are_new_or_changed(objects: Objects, tmp_path: Path) -> None:
    sync = OutputSync(objects, tmp_path / "out", "/bench/out/", lambda file: find_source(tmp_path, None, file))
    (tmp_path / "out" / "0").mkdir(parents=True)
    (tmp_path / "out" / "0" / "throughput_0.json").write_text("1")
    sync.run()
    objects.delete("bench", "out/0/throughput_0.json")

    sync.run()
    assert objects.head("bench", "out/0/throughput_0.json") is None

    (tmp_path / "out" / "0" / "throughput_0.json").write_text("12.5")
    sync.run()
    assert objects.read("bench", "out/0/throughput_0.json") == b"12.5"


def test_one_output_that_cannot_be_stored_keeps_no_other_from_being_stored(objects: Objects, tmp_path: Path) -> None:
    sync = OutputSync(objects, tmp_path / "out", "/bench/out/", lambda file: find_source(tmp_path, None, file))
    long = Path(*["d" * 200] * 6)
    (tmp_path / "out" / "after" / long).mkdir(parents=True)
    (tmp_path / "out" / "after" / long / "file").write_text("1")
    (tmp_path / "out" / "zzz.ckpt").write_text("weights")

    with pytest.raises(ObjectError, match=r"'after/ddd.*file': A key has 1 to 1024 bytes"):
        sync.run()

    assert objects.read("bench", "out/zzz.ckpt") == b"weights"


def test_an_output_that_cannot_be_read_is_named(objects: Objects, tmp_path: Path) -> None:
    def unreadable(file: Path) -> Path | None:
        if file.name == "locked":
            raise PermissionError(13, "Permission denied")
        return find_source(tmp_path, None, file)

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "locked").write_text("1")
    (tmp_path / "out" / "open").write_text("2")

    with pytest.raises(ObjectError, match="'locked': Permission denied"):
        OutputSync(objects, tmp_path / "out", "/bench/out/", unreadable).run()

    assert objects.read("bench", "out/open") == b"2"


@pytest.mark.parametrize(
    ("target", "stored"),
    [
        ("real", b"weights"),
        ("/home/ma-user/modelarts/outputs/o_0/real", b"weights"),
        ("../../../../../cache/cached", b"cached"),
        ("/cache/again", b"cached"),
        ("/etc/passwd", None),
        ("../../../../../etc/passwd", None),
        ("../../../../../../../../../../../etc/passwd", None),
        ("nowhere", None),
        ("link", None),
    ],
)
def test_a_link_among_the_outputs_means_what_it_means_in_the_container(
    objects: Objects, tmp_path: Path, target: str, stored: bytes | None
) -> None:
    root = tmp_path / "node-0"
    out = root / "ma-user" / "modelarts" / "outputs" / "o_0"
    for folder in (out, root / "cache"):
        folder.mkdir(parents=True)
    (out / "real").write_bytes(b"weights")
    (root / "cache" / "cached").write_bytes(b"cached")
    (root / "cache" / "again").symlink_to("/cache/cached")
    (out / "link").symlink_to(target)
    view = ContainerView(root, "host", [])

    OutputSync(objects, out, "/bench/out/", lambda file: find_source(root, view, file), root).run()

    there = objects.head("bench", "out/link")
    assert (objects.read("bench", "out/link") if there else None) == stored


def test_without_containers_links_to_the_machines_files_are_not_followed(objects: Objects, tmp_path: Path) -> None:
    root = tmp_path / "node-0"
    (root / "out").mkdir(parents=True)
    (tmp_path / "secret").write_text("of the machine")
    (root / "out" / "real").write_text("real")
    (root / "out" / "leak").symlink_to(tmp_path / "secret")
    (root / "out" / "away").symlink_to(tmp_path)
    (root / "out" / "deep").symlink_to("away/secret")
    (root / "out" / "near").symlink_to(root / "out" / "real")

    OutputSync(objects, root / "out", "/bench/out/", lambda file: find_source(root, None, file)).run()

    assert [stat.key for stat in objects.list("bench").objects] == ["out/near", "out/real"]


def test_half_lines_wait_for_their_end_and_lines_of_two_processes_do_not_mix(objects: Objects, tmp_path: Path) -> None:
    log = NodeLog(objects, tmp_path / "log", "/bench/log/worker-0.log")
    one, two = tmp_path / "rank-0", tmp_path / "rank-1"
    one.write_bytes(b"one\nhal")
    two.write_bytes("zwei 中".encode()[:-1])
    log.gather([one, two, tmp_path / "not-started"])
    assert (tmp_path / "log").read_text() == "one\n"

    one.write_bytes(b"one\nhalf\n")
    two.write_bytes("zwei 中\n".encode())
    log.gather([one, two])
    log.export()

    assert objects.read("bench", "log/worker-0.log").decode() == "one\nhalf\nzwei 中\n"


def test_the_last_half_line_is_kept_and_long_output_stays_whole(objects: Objects, tmp_path: Path) -> None:
    log = NodeLog(objects, tmp_path / "log", "")
    output = tmp_path / "rank-0"
    text = "中文 line\n" * 200_000 + "no end"
    output.write_text(text, "utf-8")

    log.gather([output])
    log.gather([output], final=True)
    log.gather([output], final=True)

    assert (tmp_path / "log").read_text("utf-8") == text


def test_a_line_without_end_does_not_wait_for_ever(objects: Objects, tmp_path: Path) -> None:
    log = NodeLog(objects, tmp_path / "log", "")
    output = tmp_path / "rank-0"
    output.write_bytes(b"." * 100_000)

    log.gather([output])

    assert (tmp_path / "log").stat().st_size == 100_000
