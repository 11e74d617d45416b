"""Every text exists in every language, and no text is left over."""

import ast
import re
import string
from collections.abc import Iterable
from pathlib import Path

import pytest

from aisbench_core.base.messages import Message, labels_in_chinese
from aisbench_core.domain.access.audit_entry import ActOutcome
from aisbench_core.domain.goodput.spans import TimeCause
from aisbench_core.domain.llm.chips import PeakOrigin
from aisbench_core.domain.llm.training import COUNTED_BY, NOMINAL_BY, PRINTED_BY
from aisbench_core.domain.preflight import offline, online
from aisbench_core.domain.progress.bars import Stage
from aisbench_core.domain.statistics.amdahl import FitProblem
from aisbench_core.exchange.report.words import ReportLanguage
from aisbench_core.exchange.upstream.configs import contents
from aisbench_core.model import (
    FIELDS,
    GROUPS,
    Better,
    BudgetScope,
    CannLevel,
    CellState,
    Combined,
    DeliveryState,
    Level,
    MetricSource,
    MindSporeLevel,
    NewsKind,
    Objective,
    Origin,
    RunPart,
    RunSort,
    RunSpec,
    RunState,
    Sampler,
    SeriesState,
    SystemStatus,
    WayIn,
)
from aisbench_core.model.columns import list_medians
from aisbench_core.model.spec_fields import PLAIN_FIELDS, list_form_fields
from aisbench_core.model.spec_roles import FormGroup
from aisbench_core.running.diagnosing.cause import Confidence
from aisbench_core.running.reproducing.values import Sameness
from aisbench_core.running.systems import descriptions
from aisbench_core.store.ledger.lineage import ParentKind
from aisbench_core.warehouse.measures.sorts import BOARD_SORTS, HISTORY_SORTS, RUN_SORTS
from aisbench_core.warehouse.values.compared import Comparability, ComparedBy, SideOutcome
from aisbench_core.warehouse.values.exports import ExportTable
from aisbench_core.warehouse.values.histories import BaselineReason, Outcome
from aisbench_core.warehouse.values.runs import TargetOutcome, Validity
from aisbench_core.warehouse.values.spending import SpendingBy
from pages._ui.compare.comparability import DECISIVE, KINDS
from pages._ui.configuration.details import NUMBERS
from pages._ui.configure.fields import list_choices
from pages._ui.inference.board import HARDWARE, MEASURED, OF_TOKENS
from pages._ui.pictures import Picture
from pages._ui.run.log import LEVELS
from pages._ui.search import ACTIONS, SOURCES
from pages._ui.shell import navigation
from pages._ui.shell.words import Language, Words, first_language, load_catalogue
from pages._ui.spending.choice import FILTERS as SPENDING_FILTERS

PAGES = Path(__file__).parents[2] / "pages"
BOLD = re.compile(r"\*\*.*?(.)\*\*(?=(.?))")
KEY = re.compile(r"[a-z_]+\.(?!py$)[a-z_]*[a-z]")

FROM_DATA = ("field.", "metric.", "unit.", "sample.", "by.", "doing.")
"""Names that come from specs, the warehouse, the ledger and the platform; without a text they are shown as they are."""


def _family(section: str, values: Iterable[str]) -> set[str]:
    return {f"{section}.{value}" for value in values}


MEDIANS = [column.name for column in list_medians()]
"""They have a label of their own."""

NOT_EXPLAINED = ("workload", "framework_version", *list_form_fields(FormGroup.YAML))
FORM_FIELDS = [field for field in PLAIN_FIELDS if field not in NOT_EXPLAINED]
"""Fields of a spec whose help and choices the form looks up by their names."""

NAMED_BY_VALUES = (
    _family("state", RunState)
    | _family("field", [*RunSpec.model_fields, *(f"{field}_help" for field in FORM_FIELDS)])
    | {f"{field}.{name}" for field in FORM_FIELDS for name in list_choices(field).values()}
    | _family("clean", RunPart)
    | _family("level", Level)
    | _family("validity", ["every", *Validity])
    | _family("target", [outcome.name.lower() for outcome in TargetOutcome])
    | _family("comparability", ["doubtful", "partly", *(verdict.name.lower() for verdict in Comparability)])
    | _family("audit", ActOutcome)
    | _family("menu", [page.stem for page in navigation.ICONS])
    | _family("menu", [f"{page.stem}_help" for page in navigation.ICONS])
    | _family("menu", filter(None, navigation.SECTIONS))
    | _family("search", [*SOURCES, *ACTIONS])
    | _family("lineage", ParentKind)
    | _family("metrics", [f"better_{better}" for better in Better if better])
    | _family("metrics", [f"combined_{combined}" for combined in Combined])
    | _family("metrics", [f"source_{source}" for source in MetricSource])
    | _family("configuration", NUMBERS)
    | _family("home", [f"{key}{part}" for key in ("slower", "faster") for part in ("", "_since")])
    | _family("origin", ["every", *Origin])
    | _family("files", ExportTable)
    | _family("reproduce", [each.name.lower() for each in Sameness])
    | _family("reproduce", [f"data_{each.name.lower()}" for each in Sameness])
    | _family("report", ReportLanguage)
    | _family("configure", ["view_form", "view_yaml"])
    | _family("board", ["show_groups", "show_runs"])
    | _family("system", [each.name.lower() for each in SystemStatus])
    | _family("system", [f"group_{group}" for group in GROUPS])
    | _family("pause", ["typical", "longest", "alarm"])
    | _family("level_name", [*CannLevel, *MindSporeLevel])
    | _family(
        "llm", [*PeakOrigin, "reported", *(way.removeprefix("tokens/") for way in (COUNTED_BY, PRINTED_BY, NOMINAL_BY))]
    )
    | _family("outcome", [outcome.name.lower() for outcome in Outcome])
    | _family("rule", [rule.name.lower() for rule in BaselineReason])
    | _family("history", ["along_time", "along_version", "baseline", "candidate"])
    | _family("history", ["not_measured", "not_a_finite_number", "time_not_known", "another_accelerator", "other_data"])
    | {"history.target_missed"}
    | _family("board", ["aspect_image", "aspect_code"])
    | _family("by", WayIn)
    | _family("budgets", [f"{start}_{each}" for each in BudgetScope for start in ("kind", "of")])
    | _family("compare", [f"by_{each}" for each in ComparedBy])
    | _family("compare", [f"verdict_{each}" for each in SideOutcome if each not in ("slower", "faster")])
    | _family("compare", [f"is_{each}" for each in SideOutcome])
    | _family("compare", ["mean_run", "mean_node", "mean_card"])
    | _family("sort", [*BOARD_SORTS, *HISTORY_SORTS, *RUN_SORTS, *RunSort]) - _family("sort", MEDIANS)
    | _family("why", [*KINDS, *DECISIVE, "size", "configuration", "parameter"])
    | _family("peers", ["per_run", "per_node", "per_card"])
    | _family("listing", ["down", "up"])
    | _family("log_level", LEVELS)
    | _family("log_move", ["older", "newer"])
    | _family("region", ["flavors", "engines", "pools", "files", "jobs"])
    | _family("series", [f"state_{each.name.lower()}" for each in SeriesState])
    | _family("series", [f"cell_{each.name.lower()}" for each in CellState])
    | _family("series", [f"objective_{each.name.lower()}" for each in Objective])
    | _family("series", [f"sampler_{each.name.lower()}" for each in Sampler])
    | _family("scaling", [f"misfit_{misfit.name.lower()}" for misfit in FitProblem])
    | _family("goodput", TimeCause)
    | _family("empty", [name for picture in Picture for name in (picture, f"{picture}_picture")])
    | _family("scaling", ["why_invalid", "why_incomplete", "why_nodes_not_known", "why_mixed_or_unknown"])
    | {"scaling.why_target_missed", "scaling.why_set_aside"}
    | _family("trainings", ["loss", "throughput", "step_s", "by_step", "by_time"])
    | _family("validity", [f"division_{each}" for each in ("closed", "open", "rehearsal", "not_stated")])
    | _family("board", ["model", "workload", "version", "flavor", "nodes", "tag", "benchmark", *SPENDING_FILTERS])
    | _family("inference", [*HARDWARE, *MEASURED, *OF_TOKENS, "model"])
    | _family("spending", [f"by_{each}" for each in SpendingBy])
    | _family("news", NewsKind)
    | _family("cause", Confidence)
    | _family("delivery", [state.name.lower() for state in DeliveryState])
    | _family("notifications", ["only_workloads", "only_people", "only_view"])
)


def _literals() -> set[str]:
    found = set()
    for file in PAGES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEY.fullmatch(node.value):
                found.add(node.value)
    return found


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_keys() -> None:
    chinese = {label.removeprefix("pages.") for label in labels_in_chinese() if label.startswith("pages.")}

    assert load_catalogue(Language.EN).keys() == chinese == load_catalogue(Language.ZH).keys()


def test_a_text_has_the_same_placeholders_in_both_languages() -> None:
    english, chinese = load_catalogue(Language.EN), load_catalogue(Language.ZH)

    different = [key for key in english if _placeholders(english[key]) != _placeholders(chinese[key])]

    assert different == []


def test_every_text_that_a_page_asks_for_exists() -> None:
    sections = {key.split(".")[0] for key in load_catalogue(Language.EN)}
    asked = {key for key in _literals() if key.split(".")[0] in sections}

    assert asked | NAMED_BY_VALUES <= load_catalogue(Language.EN).keys()


def test_no_text_is_left_over() -> None:
    used = _literals() | NAMED_BY_VALUES

    left_over = [key for key in load_catalogue(Language.EN) if key not in used and not key.startswith(FROM_DATA)]

    assert left_over == []


def test_every_stage_that_is_told_has_words() -> None:
    words = {key.removeprefix("doing.") for key in load_catalogue(Language.EN) if key.startswith("doing.")}

    assert words == {*Stage} - {Stage.OTHER}


def test_no_chinese_text_was_left_in_english() -> None:
    plain_ascii = [key for key, text in load_catalogue(Language.ZH).items() if text.isascii()]

    assert plain_ascii == ["by.api", "configure.view_yaml"]


@pytest.mark.parametrize("language", Language)
def test_bold_words_do_not_end_with_punctuation_before_a_word(language: Language) -> None:
    """Markdown ends bold there at a space only: else a page shows the asterisks, as in Chinese, which has no spaces."""
    shown = [
        key for key, text in load_catalogue(language).items() for ending in BOLD.findall(text) if _is_open(*ending)
    ]

    assert shown == []


def test_every_preflight_rule_is_explained_in_chinese() -> None:
    rules = {rule.rule_id for rule in offline.RULES} | {rule.rule_id for rule in online.RULES}

    chinese = {label: text for label, text in labels_in_chinese().items() if label.startswith("preflight.")}

    assert chinese.keys() == {f"preflight.{each}" for each in rules | contents.RULES.keys() | descriptions.RULES.keys()}
    assert not [rule for rule, text in chinese.items() if text.isascii()]


def test_every_field_of_the_system_description_is_explained_in_chinese() -> None:
    chinese = {label: text for label, text in labels_in_chinese().items() if label.startswith("system.")}

    assert chinese.keys() == {f"system.{field}.{part}" for field in FIELDS for part in ("title", "description")}
    assert not [label for label, text in chinese.items() if text.isascii()]


def _is_open(last: str, after: str) -> bool:
    """Whether `**` after this character and before that one does not end bold; `}` stands for any value."""
    return last != "}" and not last.isalnum() and (after.isalnum() or after == "{")


def test_a_key_that_does_not_exist_is_a_bug() -> None:
    with pytest.raises(KeyError):
        Words(Language.EN)("menu.nothing")


@pytest.mark.parametrize(
    ("settings", "locale", "expected"),
    [
        ("en", "zh-CN", Language.ZH),
        ("en", "de-DE", Language.EN),
        ("zh", "en-US", Language.ZH),
        ("en", None, Language.EN),
    ],
)
def test_the_first_language_is_the_browsers_or_the_settings(
    settings: str, locale: str | None, expected: Language
) -> None:
    assert first_language(settings, locale) is expected


def test_what_a_cloud_says_of_a_job_is_no_sentence_of_ours() -> None:
    said = "the job ended as {phase}"

    assert Words(Language.ZH).message(said.format(phase="Failed")) == "the job ended as Failed"
    assert Words(Language.ZH).message(Message(said, phase="Failed")) == "作业以 Failed 结束"
