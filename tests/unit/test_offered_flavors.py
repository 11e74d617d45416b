"""What a region offered is known while it is away, and only of that region."""

from pathlib import Path

import pytest

from aisbench_core.base.documents import parse_document
from aisbench_core.base.messages import make_verbatim
from aisbench_core.cloud.regions import OfferedFlavors
from aisbench_core.config.settings import Profile
from aisbench_core.model import Flavor

STATED = {"name": "team", "project_id": "0123", "bucket": "bench", "obs_server": "https://obs.example"}
FLAVORS = (Flavor("kat1.8xlarge", "eight cards", "Ascend", 8, 16), Flavor("odd", "", "", None, None))


def profile(region: str = "cn-north-4") -> Profile:
    """A profile of that region."""
    return parse_document(Profile, {**STATED, "region": region}, make_verbatim("the profile"))


def test_what_was_offered_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "flavors.json"

    OfferedFlavors(file).store(profile(), FLAVORS)

    assert OfferedFlavors(file).of(profile()) == FLAVORS
    assert file.stat().st_mode & 0o077 == 0


def test_a_profile_that_names_another_region_now_has_none(tmp_path: Path) -> None:
    offered = OfferedFlavors(tmp_path / "flavors.json")

    offered.store(profile(), FLAVORS)

    assert offered.of(profile("cn-east-3")) == ()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"team": 5}', '{"team": {"flavors": [{"name": 1}]}}'])
def test_a_damaged_file_is_none_and_is_written_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "flavors.json"
    file.write_text(text)
    offered = OfferedFlavors(file)
    before = offered.of(profile())

    offered.store(profile(), FLAVORS)

    assert before == ()
    assert offered.of(profile()) == FLAVORS
