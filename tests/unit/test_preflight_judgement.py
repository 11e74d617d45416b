"""Preflight where it weighs: parameters against each other, money, and what is not known."""

from pathlib import Path

import pytest

from aisbench_core.config.settings import HOME
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.costs import estimate_cost
from aisbench_core.domain.preflight.offline import check_offline
from aisbench_core.model import Api, Level, RunSpec
from tests.unit.good_specs import WORKLOADS, changed, code_folder, found, good_spec, only, profile


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code directory with boot files in it."""
    return code_folder(tmp_path)


@pytest.fixture
def resnet(code: Path) -> RunSpec:
    """A spec that nothing is wrong with."""
    return good_spec(code)


@pytest.fixture
def bert(resnet: RunSpec) -> RunSpec:
    """BERT with nothing wrong."""
    return changed(resnet, workload="mindspore_bert")


def test_train_steps_win_over_epochs(bert: RunSpec) -> None:
    assert found(bert) == []

    finding = only(found(changed(bert, parameters={"epoch_size": 40})), "parameters.train-steps-win")

    assert finding.message == "epoch_size 40 has no effect: train_steps 12000 overrides it"


def test_bert_saves_its_checkpoint_at_the_last_step(bert: RunSpec) -> None:
    fewer = changed(bert, parameters={"train_steps": 100})

    assert only(found(fewer), "parameters.checkpoint-steps").hint == "set the parameter save_checkpoint_steps: 100"
    assert found(changed(fewer, parameters={"train_steps": 100, "save_checkpoint_steps": 100})) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("sk", "x"),
        ("OBS_AK", "x"),
        ("password", "x"),
        ("security_token", "x"),
        ("harmless", "HST3ABCDEFGH12345678"),
        ("SIGNING_KEY", "plain-words"),
        ("KEY_OF_ANN", "abc"),
        ("TOKEN_OF_ANN", "abc"),
        ("WANDB", "hf_0123456789abcdefghij"),
        ("MIRROR", "https://ann:hunter2@example.org/simple"),
        ("harmless", "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW"),
        ("harmless", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY00"),
        ("MYSQL_PWD", "x"),
        ("SSH_PASSPHRASE", "x"),
        ("GITHUB_PAT", "x"),
        ("ENCRYPTION_KEY", "x"),
        ("DATABASE_URL", "postgres://me:word@db.example.com/runs"),
        ("HTTPS_PROXY", "http://me:word@proxy.example.com:3128"),
        ("header", "Bearer abc"),
        ("harmless", "ghp_0123456789abcdefABCDEF"),
        ("harmless", f"-----BEGIN RSA {'PRIVATE'} KEY-----"),
    ],
)
def test_what_looks_like_a_key_is_warned_about_and_not_repeated(resnet: RunSpec, name: str, value: str) -> None:
    finding = only(found(changed(resnet, environments={name: value})), "environments.secret")

    assert finding.level is Level.WARNING
    assert len(value) < 2 or value not in finding.message + finding.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKENS", "512"),
        ("tokenizer", "bpe"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("SSL_KEY_FILE", "/etc/ssl/key.pem"),
        ("KEYBOARD", "us"),
        ("NAME", "MyExperiment-2024-01-31-resnet50-batch256-run3"),
        ("MIRROR", "https://example.org/simple"),
        ("MODEL", "/data/Models/Bert-Base-L12-H768-A12-uncased"),
        ("task", "mask"),
        ("SHA", "0123456789abcdef0123456789abcdef01234567"),
        ("PWD", "/home/ma-user"),
        ("proxy", "http://proxy.example.com:3128/a@b"),
        ("author", "me"),
    ],
)
def test_what_only_sounds_like_a_key_is_left_alone(resnet: RunSpec, name: str, value: str) -> None:
    assert found(changed(resnet, environments={name: value})) == []


def test_a_job_that_costs_money_should_end_by_itself(resnet: RunSpec) -> None:
    priced = profile(price_per_node_hour={"modelarts.kat1.8xlarge": 80.5})

    assert only(found(resnet, priced), "cost.auto-stop").level is Level.WARNING
    assert found(changed(resnet, auto_stop_hours=3), priced) == []
    assert found(resnet, priced.model_copy(update={"rehearsal": True})) == []


def test_the_profile_answers_what_the_spec_leaves_open(resnet: RunSpec) -> None:
    open_spec = changed(resnet, flavor="")

    assert found(open_spec, profile(flavor="modelarts.kat1.8xlarge")) == []
    assert found(open_spec, profile(pool_id="pool1", flavor="modelarts.pool.visual.8xlarge")) == []
    assert only(found(resnet, profile(api=Api.SDK)), "api.available").field == "profile.api"
    assert only(found(resnet, profile(bucket="a..b")), "paths.bucket").field == "profile.bucket"


def test_two_nodes_of_two_processes_are_fine_without_ascend(resnet: RunSpec) -> None:
    spec = changed(resnet, flavor="sandbox.cpu.2cards", cards_per_node=2, node_count=2)

    assert found(spec) == []
    assert check_offline(spec, profile(), WORKLOADS) == []


def test_ascend_is_recognised_while_flavors_are_unknown(resnet: RunSpec) -> None:
    for flavor in ("modelarts.kat1.4xlarge", "modelarts.bm.snt9.xlarge.4", "not.known"):
        spec = changed(resnet, flavor=flavor, cards_per_node=4, node_count=2)

        assert only(check_offline(spec, profile(), WORKLOADS), "nodes.cards").field == "cards_per_node"


def test_a_custom_image_brings_its_own_engine_and_processes(resnet: RunSpec) -> None:
    spec = changed(resnet, image_url="swr/x:1", command="python train.py", cards_per_node=4)

    assert found(spec) == []


def test_a_preset_engine_starts_the_workloads_boot_file_in_a_custom_image(resnet: RunSpec) -> None:
    spec = changed(resnet, image_url="org/x:1", engine_name="Ascend-Powered-Engine")

    assert found(spec) == []
    assert only(found(changed(spec, api="sdk")), "api.sdk").field == "command"
    assert "starts the boot file" in only(found(changed(spec, conda_env="/opt/a")), "image.conda").message
    assert only(found(changed(spec, cards_per_node=4)), "cards.flavor").field == "cards_per_node"


@pytest.mark.parametrize(
    ("command", "last"),
    [
        ("sleep 60m", "sleep"),
        ("python t.py||sleep 5h", "sleep"),
        ("python t.py 2>&1 | /usr/bin/tee train.log", "tee"),
        ("python t.py; exit 3", "exit"),
        ("python t.py || sleep 5h; :", ""),
        ("sleep 5 && python t.py", ""),
        ("python t.py --text 'a || sleep 5h'", ""),
        ("python t.py || sleep '5h", ""),
    ],
)
def test_a_command_that_ends_with_a_program_without_options_gets_the_jobs_arguments_all_the_same(
    resnet: RunSpec, command: str, last: str
) -> None:
    spec = changed(resnet, image_url="org/x:1", command=command, boot_file="")

    messages = [finding.message for finding in found(spec) if finding.rule == "image.arguments"]

    assert messages == ([f"the job's arguments are appended to {last}, which then fails"] if last else [])


def test_a_run_without_its_optional_data_says_that_its_result_is_synthetic(tmp_path: Path) -> None:
    source = (HOME / "workloads" / "quickstart_digits" / "workload.yaml").read_text("utf-8")
    (tmp_path / "w" / "code").mkdir(parents=True)
    (tmp_path / "w" / "code" / "train.py").touch()
    manifest = source.replace("  optional: true\n", "  optional: true\n  synthetic_without: true\n")
    (tmp_path / "w" / "workload.yaml").write_text(manifest, "utf-8")
    spec = RunSpec(workload="w", flavor="sandbox.cpu.2cards")

    findings = check_offline(spec, profile(), Workloads(tmp_path))

    assert [(finding.rule, finding.level) for finding in findings] == [("inputs.synthetic", Level.INFO)]


def test_an_estimate_is_price_times_nodes_times_hours(resnet: RunSpec) -> None:
    priced = profile(flavor="modelarts.kat1.8xlarge", price_per_node_hour={"modelarts.kat1.8xlarge": 80.5})

    assert estimate_cost(changed(resnet, node_count=2), priced, 1.5) == 241.5
    assert estimate_cost(changed(resnet, flavor="", node_count=2), priced, 1.5) == 241.5
    assert estimate_cost(changed(resnet, flavor="other"), priced, 1.5) is None
    assert estimate_cost(changed(resnet, flavor="", pool_id="pool1"), priced, 1.5) is None
