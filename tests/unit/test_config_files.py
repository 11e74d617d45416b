"""Which configuration files that parameters name lie in the code; and images named by their digests."""

import pytest

from aisbench_core.model import is_in_code, names_config_file, path_in_code, pinned_image
from aisbench_core.running.resolving.config_files import resolve_files
from tests import records as a
from tests.memory_store import MemoryStore

CODE = ("train.py", "config/large.yaml", "src/model_utils/config.py")
JOB = "/home/ma-user/modelarts/user-job-dir"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a.yaml", True), ("A.YML", True), ("obs://b/c.json", True), ("resnet50", False), ("a.ckpt", False), (90, False)],
)
def test_the_ending_tells_a_configuration_file(value: object, expected: bool) -> None:
    assert names_config_file(value) is expected


@pytest.mark.parametrize(
    "value",
    [
        "config/large.yaml",
        "./config/large.yaml",
        "large.yaml",  # a script adds the folder
        "../../config/large.yaml",  # relative to src/model_utils
        "src/../config/large.yaml",
        "code/config/large.yaml",  # relative to where the code's directory lies
        f"{JOB}/code/config/large.yaml",
    ],
)
def test_a_file_of_the_code_is_found_from_every_folder_of_it(value: str) -> None:
    assert is_in_code(path_in_code(value, ""), CODE)


@pytest.mark.parametrize("value", ["larger.yaml", "other/large.yaml", "e.yaml", f"{JOB}/code/large/config.yaml"])
def test_another_file_is_not_taken_for_one_of_the_code(value: str) -> None:
    assert path_in_code(value, "")
    assert not is_in_code(path_in_code(value, ""), CODE)


@pytest.mark.parametrize("value", ["obs://bucket/large.yaml", "/etc/large.yaml", f"{JOB}/../large.yaml"])
def test_a_file_elsewhere_has_no_path_in_the_code(value: str) -> None:
    assert path_in_code(value, "") == ""


def test_the_code_lies_where_the_spec_wants_it() -> None:
    assert path_in_code("/home/ma-user/own/config/large.yaml", "/home/ma-user/own") == "config/large.yaml"
    assert path_in_code(f"{JOB}/code/large.yaml", "/home/ma-user/own") == ""


DIGEST = "sha256:" + "1" * 64


@pytest.mark.parametrize(
    ("image", "digest", "expected"),
    [
        ("org/name:2.3", DIGEST, f"org/name@{DIGEST}"),
        ("org/name", DIGEST, f"org/name@{DIGEST}"),
        ("swr.example.com:5000/org/name:2.3", DIGEST, f"swr.example.com:5000/org/name@{DIGEST}"),
        (f"org/name:2.3@{DIGEST}", "", f"org/name@{DIGEST}"),
        ("org/name:2.3", "", "org/name:2.3"),
        ("", DIGEST, ""),
    ],
)
def test_a_digest_stands_in_place_of_the_tag(image: str, digest: str, expected: str) -> None:
    assert pinned_image(image, digest) == expected


@pytest.mark.parametrize(
    ("name", "text", "is_known"),
    [
        ("c.yaml", "batch: 64\nimportant: true\n", True),
        ("c.json", '{"batch": 64}', True),
        ("c.py", "batch = 64", False),
        ("c.yaml", "_BASE_: ../base.yaml", False),
        ("c.yaml", "batch: 64\nmodel: !include model.yaml\n", False),
        ("c.yaml", "batch: 64\ndefaults:\n  - model: large\n", False),
        ("c.json", '{"extends": "base.json"}', False),
        ("c.json", '{"model": {"$ref": "model.json"}}', False),
        ("c.conf", 'include "base.conf"', False),
    ],
)
def test_a_file_on_obs_that_may_include_others_is_not_known_by_its_bytes(name: str, text: str, is_known: bool) -> None:
    objects = MemoryStore({f"/bucket/{name}": text.encode()})

    found = resolve_files(a.spec(), {"config": f"obs://bucket/{name}"}, (), (), objects)["config"]

    assert (bool(found.sha256), found.reason) == (is_known, "" if is_known else "it may include other files")
