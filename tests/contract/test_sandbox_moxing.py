"""The moxing that jobs of the sandbox find: what the manuals do with it, over the sandbox's OBS."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from moxing import file as mox
from moxing import paths
from obs import ObsClient

from aisbench_sandbox.engine.node.interpreter import MODULES
from tests.sandbox_process import SandboxProcess

AT = "obs://sandbox-bench/work"


@pytest.fixture
def obs(sandbox: SandboxProcess) -> Iterator[ObsClient]:
    """The official client, beside moxing pointed at the same sandbox."""
    access_key, secret_key = sandbox.keys
    mox.set_auth(ak=access_key, sk=secret_key, server=sandbox.obs_url, is_secure=False, path_style=True)
    yield ObsClient(access_key_id=access_key, secret_access_key=secret_key, server=sandbox.obs_url)
    paths.store().close()
    paths._obs.clear()


def stored(obs: ObsClient, key: str) -> str:
    reply = obs.getObject("sandbox-bench", key, loadStreamInMemory=True)
    assert reply.status == 200, reply
    return bytes(reply.body.buffer or b"").decode()


def test_text_and_bytes_are_written_read_and_added_to(obs: ObsClient) -> None:
    mox.write(f"{AT}/throughput_0.json", "450.7")
    mox.write("s3://sandbox-bench/work/中 文+x.bin", b"\x00\xff")
    mox.append(f"{AT}/log.txt", "one\n")
    mox.append(f"{AT}/log.txt", "two\n")

    assert stored(obs, "work/throughput_0.json") == "450.7"
    assert mox.read(f"{AT}/中 文+x.bin", binary=True) == b"\x00\xff"
    assert mox.read(f"{AT}/log.txt") == "one\ntwo\n"


@pytest.mark.usefixtures("obs")
def test_an_object_is_a_file_to_read_write_and_extend() -> None:
    with mox.File(f"{AT}/lines.txt", "w") as file:
        file.write("first\n")
        file.writelines(["second\n", "third\n"])
    with mox.File(f"{AT}/lines.txt", "a") as file:
        file.write("fourth\n")
    with mox.File(f"{AT}/lines.txt", "r") as file:
        assert file.readline() == "first\n"
        assert file.readlines() == ["second\n", "third\n", "fourth\n"]
        assert file.size() == len("first\nsecond\nthird\nfourth\n")
    with mox.File(f"{AT}/lines.txt", "rb") as file:
        file.seek(6)
        assert (file.read(6), file.tell()) == (b"second", 12)
    with mox.File(f"{AT}/lines.txt") as file:
        assert [line.strip() for line in file] == ["first", "second", "third", "fourth"]


def test_what_is_flushed_can_be_seen_before_the_file_is_closed(obs: ObsClient) -> None:
    file = mox.File(f"{AT}/progress.txt", "w")
    file.write("epoch 1\n")

    file.flush()

    assert stored(obs, "work/progress.txt") == "epoch 1\n"
    file.write("epoch 2\n")
    file.close()
    assert stored(obs, "work/progress.txt") == "epoch 1\nepoch 2\n"


@pytest.mark.usefixtures("obs")
def test_directories_are_listed_found_and_walked() -> None:
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        mox.write(f"{AT}/{name}", "x")
    mox.make_dirs(f"{AT}/empty/below")

    assert sorted(mox.list_directory(AT)) == ["a.txt", "empty", "sub"]
    assert mox.list_directory(f"{AT}/", recursive=True) == [
        "a.txt", "empty", "empty/below", "sub", "sub/b.txt", "sub/deep", "sub/deep/c.txt",
    ]  # fmt: skip
    assert [mox.exists(f"{AT}/{name}") for name in ("a.txt", "sub", "empty", "su", "nothing")] == [1, 1, 1, 0, 0]
    assert [mox.is_directory(f"{AT}/{name}") for name in ("a.txt", "sub", "empty/below", "su")] == [0, 1, 1, 0]
    assert mox.is_directory("obs://sandbox-bench")
    assert list(mox.walk(f"{AT}/sub")) == [
        (f"{AT}/sub", ["deep"], ["b.txt"]),
        (f"{AT}/sub/deep", [], ["c.txt"]),
    ]
    assert {(entry.name, entry.is_dir()) for entry in mox.scan_dir(f"{AT}/sub")} == {("b.txt", False), ("deep", True)}
    assert mox.glob(f"{AT}/*/*.txt") == [f"{AT}/sub/b.txt"]
    assert mox.glob(f"{AT}/a.txt") == [f"{AT}/a.txt"]


@pytest.mark.usefixtures("obs")
def test_sizes_and_times_are_told() -> None:
    mox.write(f"{AT}/dir/one", "1")
    mox.write(f"{AT}/dir/three", "333")

    assert (mox.get_size(f"{AT}/dir/three"), mox.get_size(f"{AT}/dir")) == (3, 0)
    assert mox.get_size(f"{AT}/dir", recursive=True) == 4
    facts = mox.stat(f"{AT}/dir/three")
    assert (facts.st_size, facts.length, facts.is_directory) == (3, 3, False)
    assert facts.mtime_nsec > 1_600_000_000 * 10**9
    assert mox.stat(f"{AT}/dir").is_directory


@pytest.mark.usefixtures("obs")
def test_a_listing_goes_on_beyond_its_first_thousand_keys(sandbox: SandboxProcess) -> None:
    folder = sandbox.data_dir / "obs" / sandbox.bucket / "many"
    folder.mkdir(parents=True)
    for number in range(1003):
        (folder / f"{number:04}").touch()

    assert len(mox.list_directory("obs://sandbox-bench/many")) == 1003
    assert len(mox.list_directory("obs://sandbox-bench/many", recursive=True)) == 1003


def test_files_and_trees_are_copied_every_way(obs: ObsClient, tmp_path: Path) -> None:
    for name in ("a.txt", "sub/b.txt"):
        (tmp_path / "local" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "local" / name).write_text(name)

    mox.copy_parallel(str(tmp_path / "local"), f"{AT}/up")
    mox.copy_parallel(f"{AT}/up", f"{AT}/again/")
    mox.copy_parallel(f"{AT}/again", tmp_path / "back")
    mox.copy_parallel(f"{AT}/up", tmp_path / "part", file_list=["sub/b.txt"])
    mox.copy(f"{AT}/up/a.txt", tmp_path / "single.txt")
    mox.copy(tmp_path / "single.txt", f"{AT}/single.txt")

    assert mox.list_directory(f"{AT}/again", recursive=True) == ["a.txt", "sub", "sub/b.txt"]
    assert (tmp_path / "back" / "sub" / "b.txt").read_text() == "sub/b.txt"
    assert [path.name for path in (tmp_path / "part").rglob("*.txt")] == ["b.txt"]
    assert stored(obs, "work/single.txt") == "a.txt"


@pytest.mark.usefixtures("obs")
def test_files_and_trees_are_moved_and_removed() -> None:
    for name in ("dir/one", "dir/sub/two", "lonely"):
        mox.write(f"{AT}/{name}", name)

    mox.rename(f"{AT}/dir", f"{AT}/moved")
    mox.rename(f"{AT}/lonely", f"{AT}/alone")

    assert mox.list_directory(AT, recursive=True) == ["alone", "moved", "moved/one", "moved/sub", "moved/sub/two"]
    with pytest.raises(IsADirectoryError, match="recursive=True"):
        mox.remove(f"{AT}/moved")
    mox.remove(f"{AT}/moved", recursive=True)
    mox.remove(f"{AT}/alone")
    assert not mox.exists(AT)


@pytest.mark.parametrize("bucket", ["sandbox-bench", "no-such-bucket"])
@pytest.mark.usefixtures("obs")
def test_what_is_not_there_is_an_error_like_pythons_own(bucket: str) -> None:
    address = f"obs://{bucket}/nothing"

    for ask in (mox.read, mox.list_directory, mox.remove, mox.stat, mox.get_size):
        with pytest.raises(FileNotFoundError, match="No such"):
            ask(address)
    assert not mox.exists(address)


def test_local_paths_are_understood_by_the_same_functions(tmp_path: Path) -> None:
    mox.make_dirs(tmp_path / "a" / "b")
    mox.write(tmp_path / "a" / "x.txt", "x")
    mox.append(str(tmp_path / "a" / "x.txt"), "y")

    assert mox.read(tmp_path / "a" / "x.txt") == "xy"
    assert mox.list_directory(tmp_path, recursive=True) == ["a", "a/b", "a/x.txt"]
    assert (mox.get_size(tmp_path / "a" / "x.txt"), mox.is_directory(tmp_path / "a")) == (2, True)
    mox.copy_parallel(tmp_path / "a", tmp_path / "c")
    mox.remove(tmp_path / "a", recursive=True)
    assert mox.glob(str(tmp_path / "c" / "*.txt")) == [str(tmp_path / "c" / "x.txt")]
    with pytest.raises(FileNotFoundError):
        mox.read(tmp_path / "a" / "x.txt")


@pytest.mark.usefixtures("obs")
def test_a_wrong_key_is_an_error_that_says_why() -> None:
    mox.set_auth(sk="wrong", retry=0)

    with pytest.raises(mox.ObsError, match="403 SignatureDoesNotMatch"):
        mox.write(f"{AT}/x", "x")


@pytest.mark.usefixtures("obs")
def test_a_broken_answer_is_asked_for_again(sandbox: SandboxProcess) -> None:
    mox.write(f"{AT}/x", "whole")
    sandbox.faults(
        {"service": "obs", "method": "GET", "drop": "before"},
        {"service": "obs", "method": "GET", "status": 503, "code": "SlowDown", "message": "slow down"},
    )

    assert mox.read(f"{AT}/x") == "whole"


SHIFTED = """
import glob, os, shutil, tempfile
import moxing as mox
mox.file.shift("os", "mox")
at = "obs://sandbox-bench/shifted"
with open(at + "/a.txt", "w") as file:
    file.write("by open")
os.makedirs(at + "/dir")
print(open(at + "/a.txt").read(), sorted(os.listdir(at)), os.path.exists(at), os.path.isdir(at + "/a.txt"))
print(os.path.getsize(at + "/a.txt"), glob.glob(at + "/*.txt"), os.stat(at + "/a.txt").st_size)
here = tempfile.mkdtemp()
shutil.copytree(at, here + "/tree")
with open(here + "/tree/a.txt") as copied:
    print(sorted(os.listdir(here + "/tree")), copied.read())
shutil.rmtree(at)
print(os.path.exists(at))
mox.file.shift("mox", "os")
print(os.path.exists("obs://sandbox-bench"))
"""


@pytest.mark.usefixtures("obs")
def test_shift_teaches_pythons_own_functions_and_takes_it_back(sandbox: SandboxProcess) -> None:
    access_key, secret_key = sandbox.keys
    variables = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(MODULES), "PYTHONWARNINGS": "error", "S3_USE_HTTPS": "0",
        "S3_ENDPOINT": sandbox.obs_url, "ACCESS_KEY_ID": access_key, "SECRET_ACCESS_KEY": secret_key,
    }  # fmt: skip

    ended = subprocess.run([sys.executable, "-c", SHIFTED], env=variables, capture_output=True, text=True, check=False)

    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "by open ['a.txt', 'dir'] True False",
        "7 ['obs://sandbox-bench/shifted/a.txt'] 7",
        "['a.txt', 'dir'] by open",
        "False",
        "False",
    ]
