"""Rulesets as files: what is shipped, a lab's own, and what is said of a file that cannot be used."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.domain.rulesets.ruleset import DEFAULT, Consequence, Rulesets, get_shipped

STANDARDS = ["gbt-45087-2024", "gbt-46346-2025", "ieee-2937-2022", "t-cesa-1169-2021"]
HEAD = "id: lab\nextends: aisbench/1\ntitle: Lab\nedition: '1'\nsource: here\n"


@pytest.fixture
def own(tmp_path: Path) -> Rulesets:
    return Rulesets(tmp_path)


def write(folder: Path, text: str, name: str = "lab.yaml") -> None:
    (folder / name).write_text(text, "utf-8")


def test_the_product_s_own_ruleset_comes_first_and_the_standards_are_shipped(own: Rulesets) -> None:
    assert own.ids() == [DEFAULT, *STANDARDS]
    assert own.get(DEFAULT) == get_shipped()


@pytest.mark.parametrize("ruleset_id", STANDARDS)
def test_what_a_standard_is_taken_to_say_is_marked_as_inferred(ruleset_id: str) -> None:
    assert [rule_id for rule_id, rule in get_shipped(ruleset_id).rules.items() if not rule.inferred] == []


@pytest.mark.parametrize("ruleset_id", [DEFAULT, *STANDARDS])
def test_every_rule_has_its_words_in_both_languages_and_a_source(ruleset_id: str) -> None:
    ruleset = get_shipped(ruleset_id)

    wordless = [name for name, rule in ruleset.rules.items() if not (rule.title_zh and rule.fix_zh and rule.source)]
    assert wordless == []
    assert ruleset.title_zh


def test_an_inferred_ruleset_says_so_beside_its_name(own: Rulesets, tmp_path: Path) -> None:
    marked = "extends: ieee-2937-2022\nrun: {V05: {inferred: false}, V06: {inferred: false}}\n"
    write(tmp_path, HEAD.replace("extends: aisbench/1\n", marked))
    inferred = "rules inferred without the standard's text"

    assert own.bases() == dict.fromkeys(STANDARDS, inferred) | {"lab": f"22 of 24 {inferred}"}
    assert own.get(DEFAULT).basis == ""


def test_rulesets_that_cannot_be_used_keep_nobody_from_what_others_rest_on(own: Rulesets, tmp_path: Path) -> None:
    write(tmp_path, "id: broken\nrun: 1\n", "broken.yaml")
    assert set(own.bases()) == set(STANDARDS)

    write(tmp_path, "id: broken\n", "twice.yaml")
    assert set(own.bases()) == set(STANDARDS)


def test_a_lab_s_own_ruleset_says_only_what_differs(own: Rulesets, tmp_path: Path) -> None:
    write(tmp_path, HEAD + "run:\n  V05: {share: 0.9, closed: fail}\n")

    lab = own.get("lab")

    assert own.ids() == [DEFAULT, *STANDARDS[:3], "lab", STANDARDS[3]]
    assert lab.run.V05 is not None
    assert (lab.run.V05.share, lab.run.V05.closed, lab.run.V05.open) == (0.9, Consequence.FAIL, Consequence.WARN)
    assert lab.run.V01 == get_shipped().run.V01


def test_a_whole_copy_is_a_ruleset_of_its_own_and_says_whether_it_decides_alike(own: Rulesets, tmp_path: Path) -> None:
    copy = own.text(DEFAULT).replace("id: aisbench/1", "id: 'lab/2'").replace("AISBench Console\n", "Lab\n")
    write(tmp_path, copy)

    assert own.get("lab/2").sha256 == get_shipped().sha256
    write(tmp_path, copy.replace("share: 0.95", "share: 0.96"))
    assert own.get("lab/2").sha256 != get_shipped().sha256


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("run:\n  V05: {shore: 0.9}\n", ["lab.yaml", "run.V05.shore", "is not a known key", "share"]),
        ("run:\n  V05: {share: 2}\n", ["run.V05.share", "less than or equal to 1", "found 2"]),
        ("run:\n  V05: {share: .nan}\n", ["run.V05.share"]),
        ("run:\n  V05: {closed: maybe}\n", ["run.V05.closed", "'fail', 'warn' or 'off'", "found 'maybe'"]),
        ("run:\n  V99: {closed: fail}\n", ["run.V99", "is not a known key; allowed: V01, V02"]),
        ("run:\n  V01: {required: [speed]}\n", ["run.V01.required.0", "'throughput'", "found 'speed'"]),
        ("run:\n  V06: {targets: {m: {accuracy: 75.9, source: s}}}\n", ["run.V06.targets.m.accuracy", "found 75.9"]),
        ("run: [V01]\n", ["run", "found ['V01']"]),
        ("colour: red\n", ["colour", "is not a known key; allowed: id, title"]),
    ],
)
def test_a_file_that_is_no_ruleset_is_refused_field_by_field(
    own: Rulesets, tmp_path: Path, text: str, sentences: list[str]
) -> None:
    write(tmp_path, HEAD + text)

    with pytest.raises(SpecError) as refused:
        own.get("lab")

    assert [each for each in sentences if each not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id: lab\nextends: other\n", "extends: must name another ruleset (found 'other')"),
        ("id: lab\nextends: lab\n", "extends: must name another ruleset (found 'lab')"),
        ("id: lab\n\tbroken", "lab.yaml is not YAML: line 2"),
        ("id: aisbench/1\n", "lab.yaml has the id aisbench/1, as aisbench-1.yaml has"),
    ],
)
def test_a_file_that_leads_nowhere_is_refused_by_its_name(
    own: Rulesets, tmp_path: Path, text: str, sentence: str
) -> None:
    write(tmp_path, text)

    with pytest.raises(ConfigError) as refused:
        own.get("lab")

    assert sentence in str(refused.value)


def test_a_damaged_file_hurts_nobody_who_does_not_ask_for_it(own: Rulesets, tmp_path: Path) -> None:
    write(tmp_path, "{{{")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")

    assert own.get(DEFAULT) == get_shipped()
    assert {"lab", "binary"} < set(own.ids())


def test_a_ruleset_that_is_not_there_is_refused_with_those_that_are(own: Rulesets) -> None:
    with pytest.raises(ConfigError, match="there is no ruleset 'ieee'; known are aisbench/1, gbt-45087-2024"):
        own.get("ieee")
