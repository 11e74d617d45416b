"""What `make` says while it installs: how far it is, and in one sentence what it needs when no index answers."""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.ports import free_port

INSTALL = Path(__file__).parents[2] / "requirements" / "install.py"


def make_wheel(folder: Path, name: str) -> str:
    """A package without content; the line of a lock that allows it."""
    file, info = folder / f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
        for path, text in files.items()
    )
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def install(tmp_path: Path, lock: str, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    (tmp_path / "run.lock").write_text(lock, "utf-8")
    target = ["--target", str(tmp_path / "to"), "--requirement", str(tmp_path / "run.lock")]
    return subprocess.run(
        [sys.executable, INSTALL, "--require-hashes", *options, *target],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_an_installation_counts_packages_of_all_that_the_lock_names(tmp_path: Path) -> None:
    lock = make_wheel(tmp_path, "first") + make_wheel(tmp_path, "second")
    lock += "third==1.0; sys_platform == 'nowhere' --hash=sha256:" + "0" * 64 + "\n"

    run = install(tmp_path, lock, "--no-index", "--find-links", str(tmp_path))

    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"3 of 3 packages, \d+ s: installed", run.stdout)
    assert {path.name for path in (tmp_path / "to").glob("*.dist-info")} == {
        "first-1.0.dist-info",
        "second-1.0.dist-info",
    }


@pytest.mark.parametrize(
    ("index", "why"), [("http://127.0.0.1:{port}/simple", "Connection refused"), ("https://nowhere.invalid/simple", "")]
)
def test_an_index_that_does_not_answer_is_one_sentence_that_says_what_to_do(
    tmp_path: Path, index: str, why: str
) -> None:
    lock = f"first==1.0 --hash=sha256:{'0' * 64}\n"

    run = install(tmp_path, lock, PIP_INDEX_URL=index.format(port=free_port()), PIP_RETRIES="1")

    assert run.returncode == 1
    assert run.stderr.startswith("cannot fetch first==1.0: no package index answers")
    assert why in run.stderr
    assert "pip config list" in run.stderr
    assert run.stderr.count("\n") == 1
    assert "Retrying" not in run.stdout


def test_a_replaced_file_is_refused_in_pips_words(tmp_path: Path) -> None:
    make_wheel(tmp_path, "first")

    run = install(tmp_path, f"first==1.0 --hash=sha256:{'0' * 64}\n", "--no-index", "--find-links", str(tmp_path))

    assert run.returncode == 1
    assert "DO NOT MATCH THE HASHES" in run.stderr
    assert not (tmp_path / "to").exists()
