"""The verdicts as JUnit XML, which GitHub, GitLab and Jenkins read: a suite per group, a test case per metric."""

from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.regression.report import RegressionReport
from aisbench_core.interfaces.cli.regression.text import describe_sides, metric_sentence, mixed_text, withheld_text
from aisbench_core.warehouse.values import histories, trend_verdicts


def junit_xml(report: RegressionReport) -> str:
    """A regression is a failure, too little data is skipped; without any group, one skipped test case says so.

    Names hold neither versions nor numbers, so that a CI server recognises a test case in its next pipeline."""
    suites = [_build_suite(report, group) for group in report.regressions.groups] or [_empty_suite(report)]
    root = Element("testsuites", {"name": "aisbench regress", **_sum_counts(suites)})
    root.extend(suites)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'


def _build_suite(report: RegressionReport, group: trend_verdicts.TrendVerdict) -> Element:
    suite = Element("testsuite", {"name": _to_text(report.name_of(group))})
    properties = SubElement(suite, "properties")
    for name, value in _get_properties(report, group).items():
        SubElement(properties, "property", {"name": name, "value": _to_text(value)})
    prefix = {"classname": _to_text(f"{report.region}.{group.row.group.id}")}
    for name, metric in _iterate_tests(group.verdict):
        suite.append(
            _build_case({"name": _to_text(f"{report.name_of(group)}: {name}"), **prefix}, metric, group.verdict)
        )
    if not (group.verdict.metrics or group.verdict.within):
        case = SubElement(suite, "testcase", {"name": _to_text(report.name_of(group)), **prefix})
        SubElement(case, "skipped", {"message": _to_text(_why_not(group.verdict))})
    return _count_cases(suite)


def _get_properties(report: RegressionReport, group: trend_verdicts.TrendVerdict) -> Mapping[str, str]:
    regression = group.verdict
    return {
        "region": report.region,
        "group_id": group.row.group.id,
        "compared": describe_sides(regression),
        "baseline_runs": " ".join(regression.baseline_run_ids),
        "candidate_runs": " ".join(regression.candidate_run_ids),
    }


def _iterate_tests(regression: histories.RegressionVerdict) -> Iterator[tuple[str, histories.MetricVerdict]]:
    yield from ((metric.name, metric) for metric in regression.metrics)
    yield from ((f"{metric.name}, within the newest version", metric) for metric in regression.within)


def _build_case(
    names: dict[str, str], metric: histories.MetricVerdict, regression: histories.RegressionVerdict
) -> Element:
    case, sentence = Element("testcase", names), _to_text(metric_sentence(metric))
    if metric.outcome == "regression":
        failure = SubElement(case, "failure", {"message": sentence, "type": "regression"})
        failure.text = _to_text(f"{sentence}\n{describe_sides(regression)}")
    elif metric.outcome == "not enough data":
        SubElement(case, "skipped", {"message": sentence})
    else:
        SubElement(case, "system-out").text = sentence
    return case


def _why_not(regression: histories.RegressionVerdict) -> str:
    if regression.withheld:
        return withheld_text(regression)
    return mixed_text(regression) if regression.mixed else f"{regression.outcome}: {describe_sides(regression)}"


def _empty_suite(report: RegressionReport) -> Element:
    suite = Element("testsuite", {"name": _to_text(report.region)})
    case = SubElement(suite, "testcase", {"name": "any group", "classname": _to_text(report.region)})
    SubElement(case, "skipped", {"message": "not enough data: no run matches the filters"})
    return _count_cases(suite)


def _count_cases(suite: Element) -> Element:
    for name, path in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        suite.set(name, str(len(suite.findall(path))))
    suite.set("errors", "0")
    return suite


def _sum_counts(suites: Sequence[Element]) -> dict[str, str]:
    # Not `skipped`: the schema that Jenkins publishes has it for a suite only.
    return {name: str(sum(int(suite.get(name, 0)) for suite in suites)) for name in ("tests", "failures", "errors")}


def _to_text(text: str) -> str:
    # XML 1.0 has no form for control characters, not even escaped.
    return display.replace_controls(text)
