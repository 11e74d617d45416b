"""Jobs as other tools describe them: what a file is, its content says, and what a spec cannot hold is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from aisbench_core.base.errors import ConfigError
from aisbench_core.config.settings import Settings
from aisbench_core.domain.authoring.config_file import ConfigFile
from aisbench_core.exchange.upstream.configs.contents import Hints, ImportedConfig
from aisbench_core.exchange.upstream.configurations import Configs
from aisbench_core.model import Level
from tests.unit.foreign_files import GOOD, REFUSED, Sample
from tests.unit.foreign_texts import SECRET, make_rank_table
from tests.unit.upstream_files import WORKLOADS


def read(text: str, name: str = "file", **hints: str) -> ImportedConfig:
    configs = Configs(Settings(data_dir=Path("nowhere")), WORKLOADS)
    return configs.understand(configs.read([ConfigFile(name, text.encode())]), Hints(**hints))


def found_in(imported: ImportedConfig, rule: str) -> list[str]:
    return [finding.field for finding in imported.findings if finding.rule == rule]


def fields_of(imported: ImportedConfig) -> dict[str, Any]:
    """What the only spec of a file sets."""
    (job,) = imported.specs
    return {name: value for name, value in job.spec.stored.items() if name != "imported"}


# --- what is understood -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", GOOD, ids=lambda sample: sample.name)
def test_a_file_is_taken_for_what_it_holds(sample: Sample) -> None:
    imported = read(sample.text)

    assert fields_of(imported) == sample.spec
    assert not imported.has_errors


@pytest.mark.parametrize("sample", GOOD, ids=lambda sample: sample.name)
def test_what_was_not_understood_is_named(sample: Sample) -> None:
    imported = read(sample.text)

    named = [(finding.rule, finding.field) for finding in imported.findings]
    assert [each for each in sample.named if each not in named] == []
    others = {rule for rule, _ in named} - {rule for rule, _ in sample.named}
    assert others <= {"config.code-dir", "config.workload", "config.version", "job.workload"}


@pytest.mark.parametrize("sample", GOOD, ids=lambda sample: sample.name)
def test_the_name_of_a_file_says_nothing(sample: Sample) -> None:
    named = [fields_of(read(sample.text, name)) for name in ("modelarts_config.py", "a.txt", "job.json", "x.yaml")]

    assert named == [sample.spec] * 4


def test_a_finding_has_the_line_of_what_it_is_about() -> None:
    text = (
        '{"algorithm": {"code_dir": "/b/c/", "boot_file": "/b/c/x.py"},\n'
        ' "spec": {"resource": {"node_count": "two"},\n\t"oddity": {"a": 1}}}'
    )

    lines = {finding.field: finding.line for finding in read(text).findings}

    assert (lines["spec.resource.node_count"], lines["spec.oddity"]) == (2, 3)


def test_several_jobs_of_one_file_are_specs_of_their_own() -> None:
    job = {"kind": "job", "metadata": {"name": "one"}, "algorithm": {"command": "true"}}
    listed = json.dumps({"items": [job, {**job, "metadata": {"name": "two"}}]})

    assert [(each.source, each.spec.name) for each in read(listed).specs] == [("one", "one"), ("two", "two")]


def test_a_person_who_names_the_workload_gets_its_types_and_no_question() -> None:
    text = (
        '{"kind": "job", "algorithm": {"boot_file": "train.py", "parameters": [{"name": "epoch_size", "value": "3"}]}}'
    )

    imported = read(text, workload="mindspore_resnet", framework_version="r1.8")

    spec = imported.specs[0].spec
    assert (spec.workload, spec.framework_version, spec.parameters) == ("mindspore_resnet", "r1.8", {"epoch_size": 3})
    assert found_in(imported, "config.workload") + found_in(imported, "job.workload") == []


def test_a_common_boot_file_alone_does_not_make_a_workload() -> None:
    """A wrong workload would add its defaults to the job, and its definition of throughput."""
    job = {"code_dir": "/b/c/", "boot_file": "/b/c/train.py", "engine": {"engine_version": "mindspore_2.2.12"}}
    plain = read(json.dumps({"kind": "job", "algorithm": job}))
    told = read(
        json.dumps({"kind": "job", "algorithm": {**job, "code_dir": "/b/resnet/", "boot_file": "/b/resnet/train.py"}})
    )

    assert (plain.specs[0].spec.workload, found_in(plain, "config.workload")) == ("unknown", ["algorithm.boot_file"])
    assert (told.specs[0].spec.workload, found_in(told, "job.workload")) == (
        "mindspore_resnet",
        ["algorithm.boot_file"],
    )


def test_cards_that_nobody_states_are_asked_for() -> None:
    text = '{"kind": "job", "algorithm": {}, "spec": {"resource": {"flavor_id": "modelarts.kat9.8xlarge"}}}'

    imported = read(text)

    assert "cards_per_node" not in imported.specs[0].spec.model_fields_set
    assert found_in(imported, "config.cards") == ["spec.resource.flavor_id"]


def test_parameters_without_a_value_are_none_and_repeated_ones_are_named() -> None:
    listed = [{"name": "lr", "value": "1"}, {"name": "lr", "value": "2"}, {"name": "amp"}, {"name": "q", "default": 3}]

    imported = read(json.dumps({"algorithm": {"command": "true", "parameters": listed}}))

    assert imported.specs[0].spec.parameters == {"lr": "2"}
    assert found_in(imported, "config.type") == ["algorithm.parameters.amp", "algorithm.parameters.q"]
    assert found_in(imported, "job.left-out") == ["algorithm.parameters.lr"]


def test_only_hours_end_a_job_and_cards_of_an_own_flavor_count() -> None:
    resource = {"flavor_id": "lab.own", "main_container_customized_flavor": {"cpu_core_num": 2, "accelerator_num": 4}}
    stop = {"time_unit": "MINUTES", "duration": 30}

    imported = read(json.dumps({"algorithm": {"command": "true"}, "spec": {"resource": resource, "auto_stop": stop}}))

    assert fields_of(imported)["cards_per_node"] == 4
    assert "auto_stop_hours" not in fields_of(imported)
    assert found_in(imported, "job.left-out") == ["spec.auto_stop.duration"]


@pytest.mark.parametrize("field", ["server_count", "device_count"])
def test_numbers_that_contradict_the_list_of_a_rank_table_are_named(field: str) -> None:
    table = json.loads(make_rank_table(2, 8))

    assert found_in(read(json.dumps({**table, field: "3"})), "job.left-out") == [field]


# --- scripts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        'settings.append({"name": "b", "value": 2})',
        'settings[0]["value"] = 2',
        'settings[0].update(value="2")',
        "settings += [{}]",
        "settings, other = [], 1",
        "def launch(settings): pass",
        "with open('x') as settings: pass",
        "for number, settings in (): pass",
        "if settings := []: pass",
        "del settings[0]",
        "same = settings; same.append({})",
        "held = {'a': [settings]}; held['a'][0].append({})",
        "for each in [settings]: each.append({})",
        "adjust(settings)",
    ],
)
def test_what_a_script_changes_later_is_not_constant(change: str) -> None:
    imported = read(
        "from modelarts.estimatorV2 import Estimator\n"
        f'settings = [{{"name": "lr", "value": 1}}]\n{change}\n'
        'Estimator(None, parameters=settings, framework_type="PyTorch")\n'
    )

    assert imported.specs[0].spec.parameters == {}
    assert found_in(imported, "job.computed") == ["parameters"]


@pytest.mark.parametrize("use", ["print(settings)", "for each in settings: print(each)", "count = len(settings) + 1"])
def test_what_a_script_only_reads_is_constant(use: str) -> None:
    imported = read(
        "from modelarts.estimatorV2 import Estimator\n"
        f'settings = [{{"name": "lr", "value": 1}}]\n{use}\n'
        'Estimator(None, parameters=settings, framework_type="PyTorch")\n'
    )

    assert imported.specs[0].spec.parameters == {"lr": 1}


def test_arguments_that_are_not_understood_are_named() -> None:
    imported = read(
        "from modelarts.estimatorV2 import Estimator\n"
        'more = {"train_instance_count": 2, **other}\n'
        "Estimator(None, user_command=f\"run {'a'!r}\", job_description=f\"a {'try'!s}\", **more)"
        ".fit([], None, True)\n"
    )

    spec = imported.specs[0].spec
    assert (spec.node_count, spec.description, spec.command) == (2, "a try", "")
    assert found_in(imported, "job.left-out") == ["argument 2", "argument 3"]
    assert sorted(found_in(imported, "job.computed")) == ["**", "user_command"]


# --- keys and passwords -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [each for each in GOOD if SECRET in each.text], ids=lambda sample: sample.name)
def test_no_key_of_a_file_is_stored_or_shown(sample: Sample) -> None:
    imported = read(sample.text)

    assert SECRET not in repr(imported)
    assert found_in(imported, "job.secret") != []


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("boot-file: a.py\nuser-command: python a.py --password hunter2 --lr 1\n", ["user-command"]),
        ("boot-file: a.py\nuser-command: export API_TOKEN='hunter2 x'; python a.py\n", ["user-command"]),
        ("boot-file: a.py\nuser-command: DB_PASSWORD=hunter2\n", ["user-command"]),
        ("boot-file: a.py\nuser-command: 'echo password: hunter2 > a'\n", ["user-command"]),
        ("boot-file: a.py\nuser-command: python a.py --api-key 4711\n", ["user-command"]),
        ("boot-file: a.py\nenv-variables: [DB_PASSWORD=hunter2, A=1]\n", ["env-variables.DB_PASSWORD"]),
        (
            "boot-file: a.py\nparameters: [password=hunter2, api_key: 4711]\n",
            ["parameters.password", "parameters[1].api_key"],
        ),
        (
            '{"algorithm": {"environments": {"DB_PASSWORD": 4711}, "parameters": [{"name": "sk", "value": 4711}]}}',
            ["algorithm.environments.DB_PASSWORD", "algorithm.parameters.sk"],
        ),
        (
            'variable "p" {\n  default = "hunter2"\n  sensitive = true\n}\n'
            'resource "huaweicloud_modelarts_training_job" "a" {\n'
            '  algorithm { environments = { DB = var.p, URL = "db:${var.p}" } }\n}\n',
            ["algorithm.environments.DB", "algorithm.environments.URL"],
        ),
        (
            'variable "db_password" {\n  default = "hunter2"\n}\nlocals { db_pwd = 4711 }\n'
            'resource "huaweicloud_modelarts_training_job" "a" {\n'
            '  algorithm { environments = { DB = var.db_password, URL = "db:${local.db_pwd}" } }\n}\n',
            ["algorithm.environments.DB", "algorithm.environments.URL"],
        ),
        (
            "from modelarts.estimatorV2 import Estimator\ndb_password = 'hunter2'\nurl = f'db:{db_password}'\n"
            "Estimator(parameters=[{'name': 'db', 'value': db_password}], user_command='a ' + url)\n",
            ["parameters.db", "user_command"],
        ),
    ],
)
def test_a_password_is_found_in_every_way_of_writing_it(text: str, fields: list[str]) -> None:
    imported = read(text)

    assert "hunter2" not in repr(imported)
    assert "4711" not in repr(imported)
    assert found_in(imported, "job.secret") == fields
    assert found_in(imported, "job.computed") == []


def test_options_of_harmless_names_stay_in_a_command() -> None:
    command = "python a.py --tokenizer-name gpt2 --max-tokens 100 --use-keyboard --password-file= --lr=0.1"

    assert fields_of(read(f"boot-file: a.py\nuser-command: {command}\n"))["command"] == command


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "look"), REFUSED)
def test_another_file_is_refused_by_what_it_looks_like(text: str, look: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(text, "strange.txt")

    assert f"strange.txt looks like {look}" in refused.value.message
    assert "modelarts_config.py, Python scripts" in refused.value.hint


def test_damaged_terraform_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match="line 2"):
        read('resource "huaweicloud_modelarts_training_job" "a" {\n  spec = [ , = \n')


@pytest.mark.parametrize("depth", [40, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    for text in ("[" * depth, '{"a":' * depth, 'resource "x_modelarts_training_job" "y" {\n' + "a {\n" * depth):
        with pytest.raises(ConfigError):
            read(text)


def test_a_script_is_never_executed(tmp_path: Path) -> None:
    text = (
        "from modelarts.estimatorV2 import Estimator\n"
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
        "Estimator(session=None, user_command=open('/etc/hostname').read(), train_instance_count=1)\n"
    )

    imported = read(text)

    assert not (tmp_path / "ran").exists()
    assert found_in(imported, "job.computed") == ["user_command"]
    assert all(finding.level is not Level.ERROR for finding in imported.findings)
