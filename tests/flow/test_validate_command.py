"""`aisbench validate` and `aisbench ruleset`: verdicts in the shell, for people and for scripts."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from aisbench_core.config.settings import Settings
from aisbench_core.interfaces.cli import main
from aisbench_core.model import RunState
from aisbench_core.wiring import Core, open_core
from tests import records as a

Typed = Callable[..., Result]
REGION = ("--region", "cn-north-9")


@pytest.fixture
def core(tmp_path: Path) -> Core:
    """A console with a good run, one without an accuracy, and one that failed."""
    core = open_core(Settings(data_dir=tmp_path / "data"))
    failed = a.record("none", with_result=False, state=RunState.FAILED)
    core.warehouse.record_many([a.record("good"), a.record("bad", accuracy=None), failed])
    return core


@pytest.fixture
def typed(core: Core) -> Typed:
    """One command on that console."""

    def invoke(*words: str, **environment: str) -> Result:
        data = {"AISBENCH_DATA_DIR": str(core.settings.data_dir)}
        return CliRunner(env=data | environment).invoke(main, words)

    return invoke


def test_what_is_wrong_is_listed_with_what_to_do_and_scripts_get_an_exit_code(typed: Typed) -> None:
    told = typed("validate", *REGION)

    assert told.exit_code == 8
    assert "bad   invalid     V06    fail   above 0 and at most 1  no accuracy" in told.stdout
    assert "V06: Evaluate on the real evaluation set" in told.stdout
    assert "V01: If a run did not complete, see `aisbench show RUN`" in told.stdout
    assert "good" not in told.stdout
    assert told.stderr == "3 runs checked by ruleset aisbench/1: 1 valid, 1 invalid, 1 incomplete\n"


def test_nothing_wrong_is_exit_code_0_and_a_filter_without_a_match_is_no_error(typed: Typed) -> None:
    valid, none = typed("validate", *REGION, "--text", "good"), typed("validate", *REGION, "--text", "nobody's")

    assert (valid.exit_code, valid.stdout) == (0, "all runs are valid\n")
    assert (none.exit_code, none.stderr) == (
        0,
        "0 runs checked by ruleset aisbench/1: 0 valid, 0 invalid, 0 incomplete\n",
    )


def test_another_ruleset_is_tried_as_json_and_then_kept(core: Core, typed: Typed) -> None:
    words = ("validate", *REGION, "--ruleset", "ieee-2937-2022", "--json")
    tried = typed(*words)
    kept = typed(*words, "--store")
    again = typed(*words)

    answer = json.loads(tried.stdout)
    assert tried.exit_code == kept.exit_code == 8
    assert "3 of these differ from what is stored; use --store to replace it" in tried.stderr
    assert (answer["ruleset_id"], answer["counts"]["invalid"]) == ("ieee-2937-2022", 2)
    assert answer["ruleset_basis"] == "rules inferred without the standard's text"
    assert "checked by ruleset ieee-2937-2022 (rules inferred without the standard's text): " in tried.stderr
    assert answer["by_rule"]["V21"] == {"fail": 2, "warn": 0}
    assert answer["fixes"]["V21"].startswith("Fill in the system description")
    assert "validity of 3 runs stored" in kept.stderr
    assert all(run["is_stored"] for run in json.loads(again.stdout)["runs"])
    row = core.warehouse.runs.find_row("good")
    assert row is not None
    assert (row.ruleset_id, row.validity) == ("ieee-2937-2022", "invalid")


def test_imports_that_were_stored_as_valid_before_they_were_claims_are_judged_anew(core: Core, typed: Typed) -> None:
    core.warehouse.record(a.imported("old", cards_heard=True))
    with core.warehouse.cursor() as cur:
        cur.execute("update results set validity = 'valid' where run_id = 'old'")
    before = core.warehouse.runs.find_row("old")

    told = typed("validate", "--store", "--region", "imported")

    after = core.warehouse.runs.find_row("old")
    assert before
    assert after
    assert (before.validity, after.validity) == ("valid", "claimed")
    assert "validity of 1 run stored" in told.stderr


def test_series_are_judged_on_request(core: Core, typed: Typed) -> None:
    none = typed("validate", *REGION, "--series")
    for number in range(2):
        record = a.record(
            f"again-{number}", created_at=a.T0 + timedelta(hours=number), throughputs=[1000.0 + number] * 8
        )
        core.warehouse.record(replace(record, run=replace(record.run, series_id="s-1", code_sha256=f"c0de{number}")))

    told = typed("validate", *REGION, "--series")
    listed = json.loads(typed("validate", *REGION, "--series", "--json").stdout)

    assert (none.exit_code, none.stdout) == (0, "every series counts\n")
    assert told.exit_code == 8
    assert "s-1 1 r1.10 V11 fail every run the same code_sha256" in " ".join(told.stdout.split())
    assert "V11: Compare the runs" in told.stdout
    assert told.stderr == "0 of 1 series count; each node count, version and image is one series\n"
    assert (listed[0]["counts"], listed[0]["runs"]) == (False, 2)


def test_the_setting_names_the_ruleset_and_a_lab_can_write_its_own(core: Core, typed: Typed) -> None:
    core.settings.rulesets_dir.mkdir()
    shown = typed("ruleset", "show", "aisbench/1").stdout
    mild = shown.replace("closed: fail\n    open: fail", "closed: fail\n    open: warn")
    lab = mild.replace("id: aisbench/1", "id: lab")
    (core.settings.rulesets_dir / "lab.yaml").write_text(lab, "utf-8")

    listed = typed("ruleset", "list", AISBENCH_RULESET="lab")
    told = typed("validate", *REGION, AISBENCH_RULESET="lab")

    assert "lab               AISBench Console  1" in listed.stdout
    assert "active: lab" in listed.stderr
    assert told.exit_code == 0
    assert "3 runs checked by ruleset lab: 2 valid, 0 invalid, 1 incomplete" in told.stderr


def test_a_ruleset_that_cannot_be_used_is_refused_in_a_sentence(core: Core, typed: Typed) -> None:
    core.settings.rulesets_dir.mkdir()
    (core.settings.rulesets_dir / "lab.yaml").write_text("id: lab\nextends: aisbench/1\nrun: {V05: {share: 2}}\n")

    listed = typed("ruleset", "list")
    unknown = typed("leaderboard", *REGION, "--ruleset", "nobody")
    wrong = typed("export", *REGION, "--ruleset", "lab")
    setting = typed("leaderboard", *REGION, AISBENCH_RULESET="nobody")

    assert {unknown.exit_code, wrong.exit_code, setting.exit_code} == {2}
    assert "there is no ruleset 'nobody'; known are aisbench/1" in unknown.stderr + setting.stderr
    refused = "ruleset lab.yaml: run.V05.share: input should be less than or equal to 1 (found 2)"
    assert refused in wrong.stderr
    assert refused in listed.stderr
    assert (listed.exit_code, "ieee-2937-2022" in listed.stdout) == (1, True)
