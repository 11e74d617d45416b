"""What the last days took and brought, in one line: runs, node hours, cost, and records."""

import streamlit as st

from aisbench_core.base.formats import amounts_text, format_change, format_money, format_number, nodes_and_cards
from aisbench_core.model import BudgetScope
from aisbench_core.warehouse.answers.activity import BrokenRecord, RegionActivity
from aisbench_core.warehouse.values.runs import RegionFacts
from pages._ui.layout import LINKS
from pages._ui.shell import navigation
from pages._ui.shell.core import core, ledger_answer
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.filters import region_key
from pages._ui.shell.words import t

LISTED = 2  # records


def show_week(activity: RegionActivity, region: RegionFacts, *, has_ledger: bool) -> None:
    """Nothing where nothing ran."""
    runs, failed = (sum(getattr(used, name) for used in activity.usage) for name in ("runs", "failed"))
    if not runs:
        return
    hours = sum(used.node_hours for used in activity.usage)
    parts = [
        t("home.week_runs", count=f"{runs:,}"),
        t("home.week_failed", count=f"{failed:,}") if failed else "",
        t("home.week_hours", hours=format_number(hours, digits=3)) if hours else "",
        escape_markdown(amounts_text(activity.costs)),
        *(_list_budgets() if has_ledger else ()),
    ]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{LINKS}-week"):
        st.markdown(f"**{t('home.week')}** :gray[{' · '.join(part for part in parts if part)}]", width="content")
        for record in activity.records[:LISTED]:
            _link_record(record)
        more = len(activity.records) - LISTED
        if more > 0:
            label = t("home.more_records", count=f"{more:,}")
            navigation.link_page(navigation.LEADERBOARD, label, {"region": region_key(region)})


def _list_budgets() -> list[str]:
    """How much of what everybody may spend in this month is used."""
    uses = [use for use in ledger_answer(core().budgets.uses) if use.budget.scope is BudgetScope.EVERYBODY]
    return [
        t(
            "home.week_budget",
            used=format_number(use.spent + use.reserved, digits=3),
            amount=escape_markdown(format_money(use.budget.amount, use.budget.currency)),
        )
        for use in uses
    ]


def _link_record(record: BrokenRecord) -> None:
    trend = record.trend
    label = t(
        "home.record",
        model=escape_markdown(record.model or trend.flavor),
        size=nodes_and_cards(trend.node_count, trend.cards_per_node),
        throughput=escape_markdown(format_number(record.throughput, t.unit(trend.throughput_unit))),
        change=format_change(record.change),
    )
    help_text = t(
        "home.record_help", previous=escape_markdown(format_number(record.previous, t.unit(trend.throughput_unit)))
    )
    icon = ":material/emoji_events:"
    navigation.link_page(navigation.LIVE, label, {"run": record.run_id}, icon=icon, help_text=help_text)
