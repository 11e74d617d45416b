"""Preflight of specs whose code an algorithm of ModelArts holds."""

from pathlib import Path

from aisbench_core.model import Level, RunSpec
from tests.unit.good_specs import changed, code_folder, found, good_spec


def test_with_an_algorithm_a_spec_names_no_code_or_engine_of_its_own(tmp_path: Path) -> None:
    spec = changed(good_spec(code_folder(tmp_path)), algorithm="a1", engine_name="PyTorch", update={"cann": "/x.run"})

    refused = {finding.field: finding for finding in found(spec) if finding.rule == "algorithm.alone"}
    alone = found(changed(spec, code_dir="", engine_name="", update={}))

    assert refused.keys() == {"code_dir", "engine_name", "update"}
    assert dict(refused["code_dir"].fix) == {"code_dir": ""}
    assert [finding for finding in alone if finding.level is Level.ERROR] == []


def test_a_subscribed_algorithm_has_both_ids_and_stands_alone(tmp_path: Path) -> None:
    plain = changed(good_spec(code_folder(tmp_path)), code_dir="", boot_file="")
    ids = {"subscription_id": "s1", "item_version_id": "v1"}

    def fields(spec: RunSpec, rule: str) -> list[str]:
        return [finding.field for finding in found(spec) if finding.rule == rule]

    assert fields(changed(plain, **ids), "algorithm.subscription") == []
    assert [finding for finding in found(changed(plain, **ids)) if finding.level is Level.ERROR] == []
    assert fields(changed(plain, subscription_id="s1"), "algorithm.subscription") == ["item_version_id"]
    assert fields(changed(plain, item_version_id="v1"), "algorithm.subscription") == ["subscription_id"]
    assert fields(changed(plain, **ids, algorithm="a1"), "algorithm.subscription") == ["algorithm"]
    assert fields(changed(plain, **ids, boot_file="train.py"), "algorithm.alone") == ["boot_file"]
