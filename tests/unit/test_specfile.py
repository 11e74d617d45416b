"""Spec files: what is written is read back, and what is wrong is named."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.domain.authoring.specfile import DOCUMENT, comments_of, explain_error, find_line, from_yaml, to_yaml
from aisbench_core.model import AccessMethod, Api, Channel, Level, Mode, RunSpec, Volume

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT)
CHANNELS = st.builds(Channel, name=NAMES, path=TEXT, access_method=st.sampled_from(AccessMethod))
NAMES = TEXT.map(str.strip)  # names that differ in white space only are refused
SPECS = st.builds(
    RunSpec,
    workload=TEXT.filter(lambda text: text.strip() != ""),
    framework_version=TEXT,
    parameters=st.dictionaries(NAMES, SCALARS, max_size=5),
    inputs=st.lists(CHANNELS, max_size=3).map(tuple),
    outputs=st.lists(CHANNELS, max_size=3).map(tuple),
    code_dir=TEXT,
    boot_file=TEXT,
    command=TEXT,
    node_count=st.integers(1, 4096),
    cards_per_node=st.integers(1, 64),
    mode=st.sampled_from(Mode),
    environments=st.dictionaries(NAMES, TEXT, max_size=4),
    volumes=st.lists(st.builds(Volume, server_path=TEXT, local_path=TEXT, read_only=st.booleans()), max_size=2).map(
        tuple
    ),
    auto_stop_hours=st.none() | st.integers(1, 720),
    description=TEXT,
    api=st.sampled_from(Api),
)


@pytest.mark.slow
@given(SPECS)
def test_a_spec_that_is_written_and_read_is_the_same_spec(spec: RunSpec) -> None:
    assert from_yaml(to_yaml(spec)) == spec


@given(SCALARS)
@example("1e-4")
@example("1e5")
@example("0o17")
@example("no")
@example("2026-11-21")
@example("1:30")
@example("<<")
@example("=")
@example("~")
@example("")
@example("90\n")
@example(1e300)
@example(math.inf)
@example("\x85\u2028\ufeff\x00")
def test_a_parameter_keeps_its_type(value: bool | float | str) -> None:
    spec = RunSpec(workload="w", parameters={"p": value})

    read = from_yaml(to_yaml(spec)).parameters["p"]

    assert (type(read), read) == (type(spec.parameters["p"]), spec.parameters["p"])


def test_fields_at_their_defaults_are_left_out_and_the_order_is_the_models() -> None:
    spec = RunSpec(name="n", node_count=2, parameters={"z": 1, "a": 1e-4}, workload="digits")

    assert to_yaml(spec) == "workload: digits\nparameters:\n  z: 1\n  a: 0.0001\nnode_count: 2\nname: n\n"


def test_numbers_and_words_mean_what_a_person_means_by_them() -> None:
    text = "workload: w\nparameters: {rate: 1e-4, big: 1e5, seed: 010, day: 2026-11-21, shuffle: yes, sink: true}\n"

    parameters = from_yaml(text).parameters

    assert parameters == {
        "rate": 1e-4, "big": 1e5, "seed": 10, "day": "2026-11-21", "shuffle": "yes", "sink": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "workload: a\nnode_count: 1\nnode_count: 2\n",
            "line 3: the key 'node_count' is given twice (first in line 2)",
        ),
        ("workload: a\nparameters:\n  x: 1\n  x: 1\n", "line 4: the key 'x' is given twice (first in line 3)"),
        ("workload: [\n", "line 2:"),
        ("workload: &a b\nname: *a\n", "line 2: aliases (*name) are not accepted"),
        ("workload: !!python/name:os.system\n", "line 1: tags (!name) are not accepted"),
        ("[" * 100_000, "line 1: more than 32 levels"),
        ("parameters: {x: " + "9" * 5000 + "}\n", "line 1: a number has too many digits"),
        ("workload: \x07\n", "special characters are not allowed"),
        ("x" * 1_000_001, "allowed: 1000000"),
        ("- a\n", "it holds a list"),
    ],
)
def test_text_that_is_no_spec_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_yaml(text)

    assert says in caught.value.message
    assert "the spec" in caught.value.message


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("", "workload", "field required"),
        ("workload: a\nnodes: 2\n", "nodes", "is not a known key; allowed: workload, framework_version"),
        ("workload: a\nnode_count: two\n", "node_count", "found 'two'"),
        ("workload: a\nnode_count: 0\n", "node_count", "greater than or equal to 1 (found 0)"),
        ("workload: a\nmode: both\n", "mode", "'cluster' or 'single_server' (found 'both')"),
        ("workload: a\npriority: 4\n", "priority", "less than or equal to 3 (found 4)"),
        ("workload: a\ninputs:\n  - name: 1x\n", "inputs.0.name", "found '1x'"),
        ("workload: a\ninputs:\n  - nam: x\n    name: x\n", "inputs.0.nam", "is not a known key"),
        ("workload: a\nparameters: {x: [1]}\n", "parameters.x", "found [1]"),
        ("workload: a\nparameters: {1: x}\n", "parameters.1", "found 1"),
        ("workload: a\nenvironments: {OMP_NUM_THREADS: 4}\n", "environments.OMP_NUM_THREADS", "found 4"),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_what_is_allowed(text: str, field: str, says: str) -> None:
    with pytest.raises(SpecError) as caught:
        from_yaml(text)

    problem = next(problem for problem in caught.value.problems if problem.field.startswith(field))
    assert says in str(problem)


WORDS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=30).map(
    lambda text: " ".join(text.split())
)


@pytest.mark.slow
@given(SPECS, st.data())
def test_comments_above_parameters_are_kept_and_change_nothing(spec: RunSpec, data: st.DataObject) -> None:
    comments = {name: data.draw(WORDS) for name in spec.parameters}

    text = to_yaml(spec, comments)

    assert from_yaml(text) == spec
    assert comments_of(text) == {name: comment for name, comment in comments.items() if comment}


def test_comments_of_a_text_that_people_wrote_are_found_where_they_stand_above_a_parameter() -> None:
    text = (
        "# top\nworkload: w\nparameters:\n  # one\n  # two\n  a: 1  # behind\n  b: 2\n  # c\n  'c': 3\nname: n\n  # d\n"
    )

    assert comments_of(text) == {"a": "one two", "c": "c"}
    assert comments_of("workload: w\nparameters: {a: 1}\n") == {}


WRITTEN = """workload: quickstart_digits
# a comment
inputs:
- path: /bucket/digits/
  name: data_url
parameters: {epochs: 3,
  batch_size: 16}
volumes:
- {local_path: /a}
- {local_path: b}
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("workload", 1),
        ("inputs.data_url", 4),
        ("inputs.0.name", 5),
        ("parameters.batch_size", 7),
        ("parameters.unknown", 6),
        ("volumes.1.local_path", 10),
        ("node_count", None),
        (DOCUMENT, None),
    ],
)
def test_a_field_is_in_the_line_that_sets_it_or_what_holds_it(field: str, line: int | None) -> None:
    assert find_line(WRITTEN, field) == line


def test_a_text_that_is_no_yaml_is_wrong_in_the_line_where_it_stops_to_be() -> None:
    text = "workload: quickstart_digits\nparameters: {epochs: 3\nnode_count: 2\n"

    with pytest.raises(ConfigError) as refused:
        from_yaml(text)
    (finding,) = explain_error(refused.value)

    assert (finding.field, finding.level) == (DOCUMENT, Level.ERROR)
    assert find_line(text, finding.field) == 3
    assert find_line(text, "workload") is None


def test_each_field_of_a_text_that_is_no_spec_is_explained_with_what_was_found() -> None:
    with pytest.raises(SpecError) as refused:
        from_yaml("workload: quickstart_digits\nnodes: 4\nmode: both\n")

    findings = {finding.field: finding.message for finding in explain_error(refused.value)}

    assert findings.keys() == {"nodes", "mode"}
    assert findings["nodes"].startswith("is not a known key; allowed: workload, ")
    assert "both" in findings["mode"]
