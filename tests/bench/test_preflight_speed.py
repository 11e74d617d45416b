"""Preflight without the cloud over a large code directory, against one that reads what it counts."""

import hashlib
import statistics
from pathlib import Path

import pytest

from aisbench_core.domain.preflight.offline import check_offline
from tests.bench.test_transfers import seconds
from tests.unit.good_specs import FLAVORS, WORKLOADS, code_folder, good_spec, profile

FILES = 900
FILE_BYTES = 32 * 1024
ROUNDS = 9


def hash_all(folder: Path) -> str:
    """The naive way: whoever reads the files knows how many and how large they are."""
    digest = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def test_preflight_of_a_spec_costs_less_than_reading_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = code_folder(tmp_path)
    for number in range(FILES):
        file = code / f"part{number // 30}" / f"{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"x" * FILE_BYTES)
    spec, place = good_spec(code), profile()
    assert check_offline(spec, place, WORKLOADS, FLAVORS) == []

    naive = statistics.median(seconds(lambda: hash_all(code)) for _ in range(ROUNDS))
    ours = statistics.median(seconds(lambda: check_offline(spec, place, WORKLOADS, FLAVORS)) for _ in range(ROUNDS))

    with capsys.disabled():
        print(f"\npreflight of a spec with {FILES:,} files of code: {ours * 1000:.1f} ms (goal 50); ", end="")
        print(f"reading them all {naive * 1000:.1f} ms, {naive / ours:.1f} x")
    assert naive / ours >= 2
