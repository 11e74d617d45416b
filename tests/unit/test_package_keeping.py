"""A package once more, another one of the same name, and names that nobody can have."""

from pathlib import Path

import pytest
import yaml

from aisbench_core.base.errors import ConfigError
from aisbench_core.exchange.upstream.configs.contents import Hints
from aisbench_core.exchange.upstream.configs.service import interpret_document
from aisbench_core.exchange.upstream.packages.package import Answers
from tests.actors import TESTER
from tests.package_door import Door, kept, said
from tests.unit.upstream_files import ACCESS, config, document
from tests.upstream_package import NAME, files, job, write_folder


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_the_same_package_makes_the_same_workload_however_it_comes(door: Door, tmp_path: Path) -> None:
    first = door.made()
    (first.folder / "workload.yaml").write_text(
        (first.folder / "workload.yaml").read_text("utf-8").replace("title: ", "title: My "), "utf-8"
    )
    again = door.packages.open(str(write_folder(tmp_path, NAME, files(config(ACCESS, job(job_name="'new'"))))), TESTER)
    described = door.packages.describe(again, Answers(name="another"))

    made = door.packages.make(again, described, actor=TESTER)

    assert (made.name, made.new) == (first.name, False)
    assert described.imported.specs[0].spec.workload == first.name
    assert described.imported.specs[0].spec.name == "new"
    assert [each.name for each in door.own.iterdir()] == [first.name]
    assert door.workloads.get(first.name).title.startswith("My ")


def test_another_package_of_the_same_name_is_refused_and_says_what_to_do(door: Door) -> None:
    first = door.made()
    package = door.opened(extra="changed")
    described = door.packages.describe(package, Answers())

    (problem,) = said(described, "package.taken")

    assert "there is another workload named 'train_mindspore_resnet_r1_8'" in problem.message
    assert "choose another name" in problem.hint
    assert described.workload is None
    with pytest.raises(ConfigError, match="cannot be imported yet"):
        door.packages.make(package, described, actor=TESTER)
    renamed = door.packages.describe(package, Answers(name="mine"))
    assert door.packages.make(package, renamed, actor=TESTER).name == "mine"
    assert door.workloads.get(first.name).package != door.workloads.get("mine").package


def test_a_name_that_is_taken_meanwhile_is_not_written_over(door: Door) -> None:
    package = door.opened()
    described = door.packages.describe(package, Answers())
    door.made(extra="somebody was faster")

    with pytest.raises(ConfigError, match="there is another workload"):
        door.packages.make(package, described, actor=TESTER)

    assert "somebody was faster" in kept(door.own / "train_mindspore_resnet_r1_8")


@pytest.mark.parametrize(
    ("name", "rule", "sentence"),
    [
        ("mindspore_resnet", "package.taken", "is shipped"),
        ("../outside", "package.manifest", "is not a valid workload name"),
        (".hidden", "package.manifest", "is not a valid workload name"),
        ("_reporter", "package.manifest", "is not a valid workload name"),
        ("x" * 42, "package.manifest", "41 of a-z"),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(door: Door, name: str, rule: str, sentence: str) -> None:
    described = door.described(answers=Answers(name=name))

    assert sentence in said(described, rule)[0].message
    assert described.workload is None
    assert described.imported.specs == ()


def test_a_made_manifest_is_what_its_reader_accepts_and_people_can_edit(door: Door) -> None:
    workload = door.made()

    answers = yaml.safe_load((workload.folder / "workload.yaml").read_text("utf-8"))

    assert answers["parameters"]["own_word"]["default"] == "true"
    assert answers["package"]["name"] == f"{NAME}.tar.gz"


def test_code_that_vanished_before_the_workload_was_made_is_said(door: Door) -> None:
    package = door.opened()
    described = door.packages.describe(package, Answers())
    door.packages.drop(package)

    with pytest.raises(ConfigError, match="is gone"):
        door.packages.make(package, described, actor=TESTER)

    assert list(door.own.iterdir()) == []


def test_a_plain_configuration_still_means_the_shipped_workload(door: Door) -> None:
    door.made()
    parameters = "[{'name': 'epoch_size', 'value': '5'}, {'name': 'config_path', 'value': 'a.yaml'}]"
    text = config(ACCESS, job(parameters=parameters))

    found = interpret_document(document(text), door.workloads, Hints())

    assert found.specs[0].spec.workload == "mindspore_resnet"


def test_a_configuration_that_only_the_own_workload_fits_means_that_one(door: Door) -> None:
    workload = door.made()

    found = interpret_document(document(config(ACCESS, job())), door.workloads, Hints())

    assert found.specs[0].spec.workload == workload.name
