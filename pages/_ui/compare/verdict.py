"""What a comparison comes to: a sentence for each side, in colour, with what it rests on."""

from collections.abc import Iterator, Mapping
from typing import Literal

import streamlit as st

from aisbench_core.base.formats import format_percent, nodes_and_cards
from aisbench_core.domain.statistics.sentences import Side, difference_headline, difference_sentence
from aisbench_core.warehouse.measures.side_verdicts import decide_sides
from aisbench_core.warehouse.values.boards import describe_hardware, mixed_or_unknown
from aisbench_core.warehouse.values.compared import Comparison, SideOutcome, SideVerdict
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.compare.names import name_groups
from pages._ui.runs.target import missed_text
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_interval
from pages._ui.shell.spec_fields import field_name
from pages._ui.shell.words import t

VERDICT = "verdict"  # key of its container

Colour = Literal["red", "green", "gray"]

SIGNS: dict[SideOutcome, tuple[Colour, str]] = {SideOutcome.SLOWER: ("red", "▼"), SideOutcome.FASTER: ("green", "▲")}

FEW = 2  # so many sentences are written large
NAMED = 5  # so many of the fields that differ are named

STYLE = f"<style>body .st-key-{VERDICT} h2 {{{{ font-size: {{size}}rem; padding: 0; }}}}</style>"


def show_verdict(comparison: Comparison) -> None:
    """A headline for each run but the first, and below it from how many runs, or what is missing."""
    verdicts = decide_sides(comparison)
    is_large = len(verdicts) <= FEW and all(each.outcome is not SideOutcome.NOT_COMPARABLE for each in verdicts)
    st.html(STYLE.format(size=1.75 if is_large else 1.25))
    with st.container(key=VERDICT, gap="small"):
        for verdict in verdicts:
            colour, sign = SIGNS.get(verdict.outcome, ("gray", ""))
            text = escape_markdown(f"{sign} {_format_headline(comparison, verdict)}".strip())
            details = "  \n".join(_list_details(comparison, verdict))
            help_text = details if len(verdicts) > FEW else None  # of many sides they would be longer than the table
            st.header(f":{'gray' if verdict.is_small else colour}[{text}]", anchor=False, help=help_text)
            if details and not help_text:
                st.caption(details)
        if missed := "  \n".join(dict.fromkeys(_list_missed(comparison))):
            st.markdown(missed)
        if any(run.rehearsal for run in comparison.runs):
            st.caption(t("board.rehearsal"))


def show_sentences(comparison: Comparison) -> None:
    """Sentences to send on, each with a button that copies it; nothing where no side has an interval."""
    baseline, base = comparison.runs[0], comparison.peers[0].summary
    sentences = []
    for run, peers in zip(comparison.runs[1:], comparison.peers[1:], strict=True):
        if peers.difference and peers.summary and base:
            sides = _to_side(run, peers.summary.count), _to_side(baseline, base.count)
            sentences.append(t.message(difference_sentence(peers.difference, *sides, comparison.normalise_by)))
    if sentences:
        with st.popover(t("compare.sentence"), icon=":material/format_quote:"):
            st.code("\n".join(sentences), language=None, wrap_lines=True)  # it brings a button that copies


def describe_side(comparison: Comparison, verdict: SideVerdict) -> str:
    """The headline of a side and what it rests on, as plain text."""
    details = (detail.replace("\\", "") for detail in _list_details(comparison, verdict))
    return " ".join((_format_headline(comparison, verdict), *details))


def colour_of(verdict: SideVerdict) -> Colour:
    """Red, green, or grey for what is no difference."""
    return "gray" if verdict.is_small else SIGNS.get(verdict.outcome, ("gray", ""))[0]


def _format_headline(comparison: Comparison, verdict: SideVerdict) -> str:
    is_repeated = verdict.outcome is SideOutcome.REPEATED
    names = {run.run_id: run.run_id for run in comparison.runs} if is_repeated else name_groups(comparison)
    candidate, baseline = names[verdict.run_id], names[comparison.runs[0].run_id]
    if verdict.difference and verdict.outcome in SIGNS:
        return t.message(difference_headline(verdict.difference, candidate, baseline, comparison.normalise_by))
    is_noisy = verdict.outcome is SideOutcome.UNDECIDED and not (verdict.missing or verdict.baseline_missing)
    key = "compare.verdict_noisy" if is_noisy else f"compare.verdict_{verdict.outcome}"
    return t(key, candidate=candidate, baseline=baseline)


def _list_details(comparison: Comparison, verdict: SideVerdict) -> Iterator[str]:
    names = {run_id: escape_markdown(name) for run_id, name in name_groups(comparison).items()}
    counts = {peers.run_id: peers.summary.count if peers.summary else 0 for peers in comparison.peers}
    first, own, outcome = comparison.runs[0].run_id, verdict.run_id, verdict.outcome
    rests_on = t(
        "compare.rests_on", baseline=names[first], before=counts[first], candidate=names[own], runs=counts[own]
    )
    if outcome in SIGNS and verdict.is_small:
        yield f"{rests_on} {t('compare.is_small')}"
    elif outcome in SIGNS and len(comparison.runs) <= FEW + 1:  # of many sides the table has the counts
        yield rests_on
    elif outcome is SideOutcome.SIMILAR:
        visible = format_percent(float(f"{verdict.visible:.2g}"))
        yield f"{rests_on} {t('compare.visible', interval=format_interval(verdict.difference), visible=visible)}"
    elif outcome is SideOutcome.UNDECIDED:
        if verdict.difference:
            yield t("compare.so_far", interval=format_interval(verdict.difference))
        yield _format_missing(verdict, names, first)
    elif outcome is SideOutcome.NOT_KNOWN:
        yield escape_markdown(_format_unknown(comparison, own))
    elif outcome is SideOutcome.NOT_MEASURED:
        yield t("compare.no_valid", sides=", ".join(names[run_id] for run_id in (first, own) if not counts[run_id]))
    elif outcome is SideOutcome.NOT_COMPARABLE:
        yield escape_markdown(_name_reasons(comparison, own))


def _list_missed(comparison: Comparison) -> Iterator[str]:
    """Which configurations missed their target: no throughput of theirs stands alone."""
    names = name_groups(comparison)
    for peers in comparison.peers:
        if peers.missed and peers.summary:
            name = escape_markdown(names[peers.run_id])
            yield f":red[{name}: {escape_markdown(missed_text(peers.missed, peers.summary.count))}]"


def _format_missing(verdict: SideVerdict, names: Mapping[str, str], first: str) -> str:
    counts = {names[first]: verdict.baseline_missing, names[verdict.run_id]: verdict.missing}
    sides = [t("compare.more_of", runs=count, name=name) for name, count in counts.items() if count]
    if not sides:
        return t("compare.too_noisy")
    key = "compare.missing" if verdict.visible else "compare.missing_interval"
    return t(key, change=format_percent(verdict.visible), sides=t("compare.and").join(sides))


def _name_reasons(comparison: Comparison, run_id: str) -> str:
    reasons = next(one.reasons for one in comparison.verdicts if one.run_id == run_id)
    fields = [*map(field_name, reasons[:NAMED]), *(["…"] if len(reasons) > NAMED else [])]
    return t("compare.differs_in", fields=", ".join(fields))


def _format_unknown(comparison: Comparison, run_id: str) -> str:
    runs = {run.run_id: run for run in comparison.runs}
    mixed = mixed_or_unknown(comparison.runs[0].not_known, runs[run_id].not_known)
    unknown = next(one.unknown for one in comparison.verdicts if one.run_id == run_id)
    return t.message(mixed) or t("compare.unknown_fields", fields=", ".join(map(field_name, unknown)))


def _to_side(row: RunRow, runs: int) -> Side:
    version = " ".join(part for part in (row.model, row.framework, row.framework_version) if part)
    size = nodes_and_cards(row.node_count, row.cards_per_node)
    return Side(row.run_id, version, f"{size} {describe_hardware(row)}".strip(), runs)
