"""Causes of failures: as good as promised on labelled failures, and never wrong where nothing can be known."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aisbench_core.base.documents import parse_document
from aisbench_core.base.errors import SpecError
from aisbench_core.base.messages import in_chinese, make_verbatim
from aisbench_core.domain.liveness.stalls import Observation, begin_watch
from aisbench_core.model import Channel, JobDetails, JobTask, RunAttempt, RunSpec, RunState, Scalar
from aisbench_core.running.diagnosing.cause import CauseSource, Confidence, Situation
from aisbench_core.running.diagnosing.corrections import Known, fixes_of
from aisbench_core.running.diagnosing.explaining import RunFacts, build_explanation, find_cause
from aisbench_core.running.diagnosing.log_clues import find_clues
from aisbench_core.running.diagnosing.rules import CauseRule, Correction, CorrectionKind, shipped_rules
from tests import records as a
from tests.failure_corpus import (
    NOTHING_FOUND,
    Case,
    answer,
    cases,
    explained,
    first_scores,
    is_sealed,
    score,
    unseen_cases,
)

GOOD = 0.9
CERTAIN_RIGHT, LIKELY_RIGHT = 0.98, 0.85
UNSEEN_PRECISION, UNSEEN_RECALL = 0.93, 0.8
FEWEST, FEWEST_HEALTHY, FEWEST_UNSEEN = 350, 15, 100


def test_the_corpus_is_large_and_has_sources() -> None:
    failures = [case for case in cases() if case.cause not in NOTHING_FOUND]
    healthy = [case for case in cases() if case.cause in NOTHING_FOUND]

    assert len({case.id for case in cases()}) == len(cases())
    assert len(failures) >= FEWEST
    assert len(healthy) >= FEWEST_HEALTHY
    assert {case.cause for case in failures} <= {*shipped_rules(), "platform-diagnosis"}
    assert all(case.source for case in cases())


def test_unseen_reports_were_scored_before_a_rule_was_written_and_are_no_others() -> None:
    unseen = unseen_cases()

    assert all(first_scores().values())
    assert not {case.id for case in unseen} & {case.id for case in cases()}
    assert all(case.source.startswith("https://") for case in unseen)
    assert any(map(is_sealed, unseen))
    assert len(unseen) >= FEWEST_UNSEEN


def test_causes_are_right_nine_times_of_ten_and_none_is_wrong(tmp_path: Path) -> None:
    found = score(cases(), tmp_path)

    assert found.wrong == ()
    assert found.precision >= GOOD
    assert found.recall >= GOOD


@pytest.mark.parametrize("case", [case for case in cases() if case.cause in NOTHING_FOUND], ids=lambda case: case.id)
def test_where_nothing_can_be_known_nothing_is_said(case: Case, tmp_path: Path) -> None:
    assert answer(explained(case, tmp_path)) in (case.cause, *case.also)


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.rank is not None or case.node is not None], ids=lambda case: case.id
)
def test_the_rank_and_node_that_failed_first_are_named(case: Case, tmp_path: Path) -> None:
    error = explained(case, tmp_path).error

    assert error is not None
    assert case.rank in (None, error.rank)
    assert case.node in (None, error.node)


def test_every_cause_that_a_rule_can_find_is_found_in_the_corpus() -> None:
    untested = shipped_rules().keys() - {case.cause for case in cases()}

    # The stall guard finds stalls: tests/flow/test_stalls.py has jobs that do.
    assert untested <= {"stall"}


@pytest.mark.parametrize("rule", shipped_rules().values(), ids=list(shipped_rules()))
def test_a_rule_says_cause_and_advice_in_both_languages(rule: CauseRule) -> None:
    cause = rule.to_cause("x", CauseSource.LOG)

    for text in (cause.text, cause.advice):
        assert re.search("[\u4e00-\u9fff]", in_chinese(text))
        assert not re.search("[\u4e00-\u9fff]", str(text))
        assert not str(text).endswith(".")


def test_a_clue_is_found_by_its_text_before_its_pattern_is_tried() -> None:
    """The text is searched for in lower case: a pattern without it would never be tried."""
    for rule_id, rule in shipped_rules().items():
        for clue in (*rule.logs, *rule.events, *rule.messages):
            assert clue.text.strip() == clue.text or clue.text.endswith(": "), (rule_id, clue.text)


RULES_BY_EXAMPLE = [(rule_id, text) for rule_id, rule in shipped_rules().items() for text in rule.examples]
RULES_BY_LOOKALIKE = [(rule_id, text) for rule_id, rule in shipped_rules().items() for text in rule.lookalikes]


def answer_to(log: str, folder: Path) -> str:
    return answer(explained(Case(id="log", cause="", source="", logs={0: f"step 1\n{log}\n"}), folder))


@pytest.mark.parametrize(("rule_id", "log"), RULES_BY_EXAMPLE)
def test_a_rule_explains_its_examples(rule_id: str, log: str, tmp_path: Path) -> None:
    assert answer_to(log, tmp_path) == rule_id


@pytest.mark.parametrize(("rule_id", "log"), RULES_BY_LOOKALIKE)
def test_a_rule_does_not_explain_what_only_looks_alike(rule_id: str, log: str, tmp_path: Path) -> None:
    assert answer_to(log, tmp_path) != rule_id


@pytest.mark.parametrize(
    "level",
    [
        "2026-10-26 13:26:57.710708: W tensorflow/core/platform/loader.cc:64] ERROR ",
        "W tensorflow/core/platform/loader.cc:64] ",
        "W1026 13:26:57.710708   42 loader.cc:64] ",
        "[W1026 13:26:57.710708 loader.cpp:64] Warning: ",
        "WARNING:root:",
        "WARNING: ",
        "2026-10-26 13:26:57,710 - mmengine - WARNING - ",
        "[WARNING] ME(42:281,MainProcess):2026-10-26-13:26:57.710.708 [loader.py:64] ",
        "26/10/26 13:26:57 WARN Loader: ",
        "/opt/lib/python3.11/site-packages/loader.py:64: UserWarning: ",
        "/usr/bin/ld: warning: ",
        '{"level": "warning", "message": "',
        "time=2026-10-26T13:26:57Z level=warning msg=",
    ],
)
def test_a_warning_in_any_form_of_a_logger_does_not_beat_a_traceback(level: str, tmp_path: Path) -> None:
    warning = f"{level}libcudart.so.11.0: cannot open shared object file: No such file or directory"
    traceback = "Traceback (most recent call last):\n  File 'train.py', line 20, in <module>\nKeyError: 'label'"

    assert answer_to(f"{warning}\n{traceback}", tmp_path) == "code-exception"
    assert answer_to(warning, tmp_path) == "unknown"


def test_what_a_framework_guesses_loses_against_a_fact_that_comes_later(tmp_path: Path) -> None:
    guess = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
    )
    facts = {
        "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.": "host-memory",
        "Memory cgroup out of memory: Killed process 7 (python) total-vm:1kB": "host-memory",
        "OSError: [Errno 28] No space left on device": "disk-full",
    }

    assert answer_to(guess, tmp_path) == "shared-memory"
    for fact, cause in facts.items():
        assert answer_to(f"{guess}\n{fact}", tmp_path) == cause


def test_causes_that_are_called_certain_are_right_as_often_as_that_word_promises(tmp_path: Path) -> None:
    for part in (cases(), unseen_cases()):
        found = score(part, tmp_path)

        assert found.calibration(Confidence.CERTAIN) >= CERTAIN_RIGHT
        assert found.calibration(Confidence.LIKELY) >= LIKELY_RIGHT


def test_unseen_failures_are_explained_as_well_as_the_page_says(tmp_path: Path) -> None:
    found = score(unseen_cases(), tmp_path)

    assert found.precision >= UNSEEN_PRECISION
    assert found.recall >= UNSEEN_RECALL


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"logs": ["ab"]}, "text"),
        ({"logs": [{"text": "abc", "pattern": "("}]}, "is not a regular expression"),
        ({"logs": [{"text": "abc", "regex": "x"}]}, "is not a known key"),
        ({"confidence": "sure"}, "confidence"),
        ({"correction": {"kind": "guess"}}, "correction"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(wrong: dict[str, object], problem: str) -> None:
    rule = {"cause": "c", "cause_zh": "因", "advice": "a", "advice_zh": "办", "confidence": "likely"}

    with pytest.raises(SpecError, match=problem):
        parse_document(CauseRule, rule | wrong, make_verbatim("rule"))


def test_a_run_that_a_person_stopped_has_no_cause() -> None:
    stopped = a.run(state=RunState.STOPPED, final_state=RunState.STOPPED, detail="stopped by ann")
    facts = RunFacts(stopped, JobDetails(), (), {})

    found = build_explanation(facts, find_cause(facts, shipped_rules()))

    assert (found.situation, found.cause, found.error) == (Situation.STOPPED, None, None)
    assert not found.is_unknown


def test_a_task_that_was_killed_because_another_failed_is_no_cause() -> None:
    tasks = (JobTask("worker-0", exit_code=137), JobTask("worker-1", exit_code=127), JobTask("worker-2", exit_code=137))
    failed = a.run(state=RunState.FAILED, final_state=RunState.FAILED)
    facts = RunFacts(failed, JobDetails(attempts=(RunAttempt(1, a.T0, tasks=tasks),)), (), {1: ("torchrun?",)})

    found = build_explanation(facts, find_cause(facts, shipped_rules()))

    assert found.cause is not None
    assert (found.cause.rule, found.cause.source) == ("command-missing", CauseSource.EXIT_CODE)
    assert found.error is not None
    assert (found.error.node, found.error.lines) == (1, ("torchrun?",))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("the sandbox stopped while the job was running", ("sandbox-ended", Confidence.CERTAIN)),
        ("rank 0 exited with code 137", ("host-memory", Confidence.POSSIBLE)),
    ],
)
def test_who_killed_a_process_is_said_only_where_it_is_known(message: str, expected: tuple[str, Confidence]) -> None:
    task = JobTask("worker-0", exit_code=137, message=message)
    failed = a.run(state=RunState.FAILED, final_state=RunState.FAILED)
    facts = RunFacts(failed, JobDetails(attempts=(RunAttempt(1, a.T0, tasks=(task,)),)), (), {})

    found = build_explanation(facts, find_cause(facts, shipped_rules()))

    assert found.cause is not None
    assert (found.cause.rule, found.cause.confidence) == expected


def test_errors_of_two_nodes_without_times_are_possible_causes_only(tmp_path: Path) -> None:
    lines = {0: "OSError: [Errno 28] No space left on device", 1: "RuntimeError: CUDA error: out of memory"}

    both = explained(Case(id="both", cause="", source="", logs=lines), tmp_path)
    one = explained(Case(id="one", cause="", source="", logs={0: lines[0]}), tmp_path)

    assert both.cause is not None
    assert one.cause is not None
    assert (both.cause.confidence, one.cause.confidence) == (Confidence.POSSIBLE, Confidence.CERTAIN)


def known(defaults: Mapping[str, Scalar] | None = None, earlier: RunSpec | None = None, **groups: str) -> Known:
    return Known(defaults or {}, groups, earlier)


HALVE = Correction(kind=CorrectionKind.HALVE, parameters=("batch_size",))
DROP = Correction(kind=CorrectionKind.DROP)


def test_a_correction_halves_the_batch_size_even_if_only_the_manifest_gives_it() -> None:
    run = a.run(run_spec=a.spec(parameters={}))
    defaults: dict[str, Scalar] = {"batch_size": 256, "eval_batch_size": 1, "epochs": 90}

    assert fixes_of(HALVE, run, known(defaults)) == (("parameters.batch_size", 128),)
    assert fixes_of(HALVE, run, known({"batch_size": "auto"})) == ()


def test_a_correction_allows_twice_the_hours_but_not_more_than_a_month() -> None:
    longer = Correction(kind=CorrectionKind.LONGER)
    given, ran = (a.run(run_spec=a.spec(auto_stop_hours=hours)) for hours in (3, 700))
    unlimited = replace(a.run(), duration_s=timedelta(hours=1.5).total_seconds())

    hours = [fixes_of(longer, run, known())[0][1] for run in (given, ran, unlimited)]

    assert hours == [6, 720, 4]


def test_a_correction_removes_an_argument_only_if_the_manifest_does_not_pass_it_again() -> None:
    run = a.run(run_spec=a.spec(parameters={"epoch_size": 90}))

    assert fixes_of(DROP, run, known(unknown="epoch-size")) == (("parameters.epoch_size", None),)
    assert fixes_of(DROP, run, known({"epoch_size": 10}, unknown="epoch-size")) == ()
    assert fixes_of(DROP, run, known(unknown="local-rank")) == ()


def test_a_correction_resets_a_wrong_value_to_that_of_the_manifest() -> None:
    run = a.run(run_spec=a.spec(parameters={"epoch_size": "many"}))

    assert fixes_of(DROP, run, known({"epoch_size": 90}, argument="epoch_size")) == (("parameters.epoch_size", None),)
    assert fixes_of(DROP, run, known({"epoch_size": "many"}, argument="epoch_size")) == ()


def test_a_correction_takes_the_input_of_the_newest_run_that_completed() -> None:
    earlier = Correction(kind=CorrectionKind.EARLIER)
    wrong, right = (a.spec(inputs=(Channel(name="data_url", path=f"/bucket/{path}/"),)) for path in ("wrong", "right"))

    assert fixes_of(earlier, a.run(run_spec=wrong), known(earlier=right)) == (("inputs.data_url", "/bucket/right/"),)
    assert fixes_of(earlier, a.run(run_spec=right), known(earlier=right)) == ()
    assert fixes_of(earlier, a.run(run_spec=wrong), known()) == ()


def test_a_correction_asks_only_api_v2_to_restart_jobs() -> None:
    restart = Correction(kind=CorrectionKind.SET, fields={"retries": 1, "retry_on_hang": True})
    v1, v2, set_already = a.spec(api="v1"), a.spec(), a.spec(retries=3, retry_on_hang=True)

    assert fixes_of(restart, a.run(run_spec=v1), known()) == ()
    assert fixes_of(restart, a.run(run_spec=v2), known()) == (("retries", 1), ("retry_on_hang", True))
    assert fixes_of(restart, a.run(run_spec=set_already), known()) == ()


def test_the_error_of_a_job_that_is_stalled_is_its_cause_and_a_person_who_stops_it_is_none(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("[rank3]: OSError: [Errno 28] No space left on device\n")
    hits = find_clues({0: tmp_path / "log"}, shipped_rules(), 2026)
    watch = replace(begin_watch(Observation(a.T0, 1, 0, "", None, None), a.T0), stalled_at=a.T0)
    runs = a.run(state=RunState.RUNNING, final_state=None), a.run(state=RunState.STOPPED, detail="stopped by ann")

    running, stopped = (
        build_explanation(facts, find_cause(facts, shipped_rules()))
        for facts in (RunFacts(run, JobDetails(), hits, {}, watch) for run in runs)
    )

    assert running.situation is Situation.HANGING
    assert running.cause is not None
    assert running.error is not None
    assert (running.cause.rule, running.error.rank) == ("disk-full", 3)
    assert (stopped.situation, stopped.cause) == (Situation.STOPPED, None)
