"""Contract tests run on a wheel of the package `modelarts` that somebody has, where it is named."""

import zipfile
from pathlib import Path

import pytest

from aisbench_core.config.sdk_package import installed_version
from tests.contract.sdk_venv import STANDIN, WHEEL, made_venv
from tests.unit.good_specs import profile

ABOUT = "modelarts-1.1.7.dist-info"
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: modelarts\nVersion: 1.1.7\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py2.py3-none-any\n",
    "RECORD": "",
}


def wheel_of_the_standin(folder: Path) -> Path:
    wheel = folder / "modelarts-1.1.7-py2.py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        for file in STANDIN.rglob("*.py"):
            out.write(file, f"modelarts/{file.relative_to(STANDIN).as_posix()}")
        for name, text in METADATA.items():
            out.writestr(f"{ABOUT}/{name}", text)
    return wheel


def test_a_wheel_that_is_named_takes_the_place_of_the_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WHEEL, str(wheel_of_the_standin(tmp_path)))

    place = made_venv(tmp_path / "venv")

    assert installed_version(profile(api="sdk", sdk_venv=str(place))) == "1.1.7"
