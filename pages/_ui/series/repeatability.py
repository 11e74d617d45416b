"""What the rules about series say of each row of a series: whether its runs may be taken together, and why not."""

import streamlit as st

from aisbench_core.series.matrix import Matrix, MatrixRow
from aisbench_core.warehouse.validity.series_verdict import SeriesVerdict
from aisbench_core.warehouse.values import CheckLevel
from pages._ui.runs.validity import name_of, ruleset_of, show_check
from pages._ui.series.matrix import row_title, word_of
from pages._ui.shell.errors import plain
from pages._ui.shell.words import Words, words


def show_series_verdicts(matrix: Matrix) -> None:
    """The ruleset, and of each row the checks that are not fulfilled, with what to do."""
    t = words()
    judged = [(row, row.verdict) for row in matrix.rows if row.verdict]
    if not judged:
        st.caption(t("repeatability.none"))
        return
    ruleset_id = judged[0][1].ruleset_id
    ruleset = ruleset_of(ruleset_id)
    st.caption(t("repeatability.by", ruleset=plain(name_of(ruleset, ruleset_id, t))))
    for row, verdict in judged:
        wrong = [*verdict.of_level(CheckLevel.FAIL), *verdict.of_level(CheckLevel.WARN)]
        label = _label(row, verdict, t)
        if not wrong:
            st.markdown(f":material/check: {label}")
            continue
        with st.expander(label, expanded=not verdict.counts, icon=":material/rule:"):
            for check in wrong:
                show_check(check, ruleset, t)


def _label(row: MatrixRow, verdict: SeriesVerdict, t: Words) -> str:
    failed, warned = (len(verdict.of_level(level)) for level in (CheckLevel.FAIL, CheckLevel.WARN))
    wrong = f": {t('validity.checks', failed=failed, warned=warned)}" if failed or warned else ""
    return f"{plain(row_title(row.asked, t))} · **{word_of(row, t)}**{plain(wrong)}"
