"""A spec that nothing is wrong with, and what preflight finds when something is changed."""

from pathlib import Path
from typing import Any

from aisbench_core.config.settings import HOME, Profile
from aisbench_core.domain.authoring.workloads import Workloads
from aisbench_core.domain.preflight.offline import check_offline
from aisbench_core.model import Channel, Finding, Flavor, RunSpec

WORKLOADS = Workloads(HOME / "workloads")
FLAVORS = (
    Flavor("modelarts.kat1.4xlarge", "", "Ascend", 4, 16),
    Flavor("modelarts.kat1.8xlarge", "", "Ascend", 8, 16),
    Flavor("lonely", "", "Ascend", 8, 1),
    Flavor("sandbox.cpu.2cards", "", "CPU", 2, 8),
)
DATA = (Channel(name="data_url", path="/bench/imagenet/"),)


def profile(**changes: Any) -> Profile:
    """A profile without prices and without defaults."""
    answers = {"name": "lab", "region": "r1", "project_id": "p", "obs_server": "http://127.0.0.1:9", "bucket": "bench"}
    return Profile.model_validate(answers | changes)


def code_folder(place: Path) -> Path:
    """A code directory with the boot files of both MindSpore workloads in it."""
    folder = place / "code"
    folder.mkdir()
    (folder / "train.py").write_text("print()\n")
    (folder / "run_pretrain.py").write_text("print()\n")
    return folder


def good_spec(code: Path) -> RunSpec:
    """A spec that nothing is wrong with: ResNet-50 on one node of eight cards."""
    return RunSpec(
        workload="mindspore_resnet",
        code_dir=str(code),
        inputs=DATA,
        flavor="modelarts.kat1.8xlarge",
        cards_per_node=8,
    )


def changed(spec: RunSpec, **changes: Any) -> RunSpec:
    """The spec with other answers, checked as a person's answers are."""
    return RunSpec.model_validate(spec.model_dump() | changes)


def found(spec: RunSpec, where: Profile | None = None) -> list[Finding]:
    """What preflight finds in a region whose flavors are known."""
    return check_offline(spec, where or profile(), WORKLOADS, FLAVORS)


def only(findings: list[Finding], rule_id: str) -> Finding:
    """The one finding of a rule."""
    (finding,) = [finding for finding in findings if finding.rule == rule_id]
    return finding
