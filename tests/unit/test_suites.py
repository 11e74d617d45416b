"""Suites as files: what is shipped, a lab's own, and what is said of a file that cannot be used."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import AisbenchError, ConfigError, SpecError
from aisbench_core.base.messages import make_verbatim
from aisbench_core.domain.acceptance.decision_rule import ReferenceSpeed
from aisbench_core.domain.acceptance.plan import plan_measured_steps
from aisbench_core.domain.acceptance.suite import Reference, Suites

SHIPPED = ["llm", "quick", "training"]
SIZE = "{nodes: 1, reference: {value: 900, source: the lab}}"
OWN = f"title: Ours\nspec: {{workload: digits}}\nscale:\n  - {{name: a, hours: 0.5, sizes: [{SIZE}]}}\n"


def read(folder: Path, text: str) -> str:
    """The problems of a suite."""
    (folder / "ours.yaml").write_text(text, "utf-8")
    with pytest.raises(AisbenchError) as raised:
        Suites(folder).get("ours")
    return str(raised.value)


@pytest.mark.parametrize("suite_id", SHIPPED)
def test_shipped_suites_have_all_steps_and_chinese(suite_id: str, tmp_path: Path) -> None:
    suite = Suites(tmp_path).get(suite_id)

    assert suite.health
    assert suite.nodes
    assert suite.measured > 1
    assert suite.title_zh
    assert suite.budget.node_hours
    assert suite.node_hours <= suite.budget.node_hours


def test_own_suites_stand_beside_the_shipped_ones_or_in_place_of_them(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OWN, "utf-8")
    (tmp_path / "quick.yaml").write_text(OWN, "utf-8")
    suites = Suites(tmp_path)

    assert suites.list_ids() == ["llm", "ours", "quick", "training"]
    assert (suites.get("ours").id, suites.get("quick").title) == ("ours", "Ours")
    assert suites.get_text("ours") == OWN


def test_steps_without_a_spec_have_the_one_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OWN + "health: {spec: {workload: other}, nodes: 1, hours: 1}\n", "utf-8")
    suite = Suites(tmp_path).get("ours")

    assert suite.scale[0].spec.workload == "digits"
    assert suite.health
    assert suite.health.spec.workload == "other"


def test_a_wrong_failure_is_as_unlikely_with_many_steps_as_with_one(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OWN.replace(SIZE, "{nodes: 1}, {nodes: 2}, {nodes: 4}, {nodes: 8}"), "utf-8")
    suite = Suites(tmp_path).get("ours")

    assert suite.fail_alpha * suite.measured == pytest.approx(suite.pass_alpha)
    assert suite.pass_alpha == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("hours: 0.5", "hours: -1"), "scale.0.hours: input should be greater than 0 (found -1)"),
        (("name: a,", "name: a, color: red,"), "scale.0.color: is not a known key; allowed: name, spec, sizes"),
        ((", source: the lab", ""), "scale.0.sizes.0.reference: a value needs its source"),
        (("value: 900, source: the lab", ""), "must have one of configuration, bundles and value"),
        (("value: 900", "configuration: r, value: 900"), "must have one of configuration, bundles and value"),
        (("value: 900", "configuration: r"), "source and uncertainty belong to a value"),
        ((SIZE, f"{SIZE}, {SIZE}"), "scale.0.sizes: each number of nodes may be named once"),
        (("title: Ours", "title: Ours\nruns: 2"), "runs: input should be greater than or equal to 3 (found 2)"),
        (("title: Ours", "title: Ours\nbudget: {money: 5}"), "budget: money and currency belong together"),
        (("title: Ours", "title: Ours\nid: theirs"), "suite ours.yaml has the id theirs"),
        ((OWN[OWN.index("scale:") :], ""), "must have a step: health, nodes or scale"),
        (("scale:", "scale: ["), "ours.yaml is not YAML"),
    ],
)
def test_each_wrong_field_is_named_with_what_is_allowed(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    assert problem in read(tmp_path, OWN.replace(*change))


def test_a_suite_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no suite 'fast'; known are llm, quick, training"):
        Suites(tmp_path).get("fast")


def test_a_plan_asks_for_each_reference_and_expects_the_larger_spread(tmp_path: Path) -> None:
    sizes = "{nodes: 1, reference: {configuration: r-1}}, {nodes: 2}, {nodes: 4}"
    (tmp_path / "ours.yaml").write_text(OWN.replace(SIZE, sizes), "utf-8")
    asked = []

    def find(reference: Reference, nodes: int) -> ReferenceSpeed:
        asked.append((reference.configuration, nodes))
        return ReferenceSpeed(900.0, 0.02, 3)

    named = {2: Reference(configuration="r-2")}
    first, second, third = plan_measured_steps(Suites(tmp_path).get("ours"), find, named)

    assert asked == [("r-1", 1), ("r-2", 2)]
    assert [step.name for step in (first, second, third)] == ["a-1", "a-2", "a-4"]
    assert [step.spec.node_count for step in (first, second, third)] == [1, 2, 4]
    assert first.looks.cv == pytest.approx(0.04)
    assert (third.reference, third.looks.cv) == (None, 0.02)
    assert third.rates[-1].passed > second.rates[-1].passed


def test_a_reference_without_a_speed_ends_the_plan(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(OWN, "utf-8")

    def refuse(reference: Reference, nodes: int) -> ReferenceSpeed:
        raise SpecError(make_verbatim(f"{reference.source} on {nodes}"), [])

    with pytest.raises(SpecError, match="the lab on 1"):
        plan_measured_steps(Suites(tmp_path).get("ours"), refuse)
