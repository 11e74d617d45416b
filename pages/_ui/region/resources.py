"""Tables of what a region offers: flavors, engines, and pools with their queues."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from aisbench_core.base.formats import MISSING, format_duration
from aisbench_core.model import Algorithm, Engine, Pool, PricedFlavor, SubscribedAlgorithm, WaitingJob
from pages._ui.region.answers import show_answer
from pages._ui.shell import url
from pages._ui.shell.core import core
from pages._ui.shell.errors import escape_markdown
from pages._ui.shell.formats import format_time
from pages._ui.shell.listing import choose_text
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

Row = TypeVar("Row")

ROWS = 50  # of one page of a list
POOLS = 20  # of one page: each queue takes a request


def show_flavors(profile: str) -> None:
    """Instance types, with the profile's prices where it has any."""
    flavors = show_answer(core().region_resources.flavors, profile)
    if flavors is not None:
        with_prices = any(row.price_per_node_hour is not None for row in flavors)
        found = filter_rows(flavors, lambda row: (row.flavor.flavor_id, row.flavor.name, row.flavor.product))
        show_rows(found, lambda row: _flavor_row(row, with_prices=with_prices), t("region.flavors"))
        if not with_prices:
            st.caption(t("region.no_prices"))


def _flavor_row(row: PricedFlavor, *, with_prices: bool) -> dict[str, Any]:
    flavor = row.flavor
    price = {t("region.price", currency=row.currency): row.price_per_node_hour} if with_prices else {}
    return {
        t("field.flavor"): flavor.flavor_id,
        t("region.accelerator"): " ".join(filter(None, (flavor.accelerator, flavor.product))) or None,
        t("region.architecture"): flavor.architecture or None,
        t("field.cards_per_node"): flavor.cards,
        t("region.max_nodes"): flavor.max_nodes,
        **price,
    }


def show_engines(profile: str) -> None:
    """Preset images, by the name and version that a spec names."""
    engines = show_answer(core().region_resources.engines, profile)
    if engines is not None:
        found = filter_rows(engines, lambda engine: (engine.name, engine.version))
        show_rows(found, _engine_row, t("region.engines"))


def _engine_row(engine: Engine) -> dict[str, Any]:
    return {t("field.engine_name"): engine.name, t("field.engine_version"): engine.version}


def show_algorithms(profile: str) -> None:
    """The algorithms that the region keeps, newest first."""
    algorithms = show_answer(core().algorithms.all, profile)
    if algorithms is not None:
        found = filter_rows(
            algorithms, lambda algorithm: (algorithm.name, algorithm.algorithm_id, algorithm.description)
        )
        show_rows(found, _algorithm_row, t("region.algorithms"))
        st.subheader(t("region.subscribed"))
        subscribed = show_answer(core().algorithms.list_subscribed, profile)
        if subscribed is not None:
            show_rows(subscribed, _subscribed_row, t("region.subscribed"), "subscribed")


def _subscribed_row(algorithm: SubscribedAlgorithm) -> dict[str, Any]:
    return {
        t("region.algorithm"): algorithm.name or None,
        t("region.version"): algorithm.version or None,
        t("field.subscription_id"): algorithm.subscription_id,
        t("field.item_version_id"): algorithm.item_version_id,
    }


def _algorithm_row(algorithm: Algorithm) -> dict[str, Any]:
    return {
        t("region.algorithm"): algorithm.name,
        t("field.engine_name"): algorithm.engine,
        t("region.starts"): algorithm.command or algorithm.boot_path,
        t("region.created"): format_time(algorithm.created_at, "%Y-%m-%d %H:%M") if algorithm.created_at else None,
        t("region.description"): algorithm.description or None,
        t("region.id"): algorithm.algorithm_id,
    }


def show_pools(profile: str) -> None:
    """Dedicated pools with their nodes, what waits in them, and the project's quotas.

    A queue takes a request of its own, so that only those of the shown pools are read."""
    pools = show_answer(core().region_resources.pools, profile)
    if pools:
        pages = url.Pages("page", len(pools), POOLS)
        shown = pools[pages.offset : pages.offset + POOLS]
        table = st.container()
        st.subheader(t("region.queue"))
        queues = show_answer(core().region_resources.queues, profile, *(pool.pool_id for pool in shown)) or {}
        with table:
            show_table([_pool_row(pool, queues.get(pool.pool_id)) for pool in shown], t("region.pools"))
            pages.show()
            st.caption(t("board.total", total=f"{len(pools):,}"))
        rows = [row for pool in shown for row in _waiting_rows(pool, queues.get(pool.pool_id))]
        show_rows(rows, dict, t("region.queue"), "waiting", t("region.no_queue"))
    elif pools is not None:
        st.info(t("region.no_pools"), icon=":material/bedtime:")
    _show_quotas(profile)


def _pool_row(pool: Pool, waiting: Sequence[WaitingJob] | None) -> dict[str, Any]:
    return {
        t("region.pool"): pool.name,
        t("field.node_count"): pool.total_nodes,
        t("region.used"): pool.used_nodes,
        t("region.free"): pool.free_nodes,
        t("region.faulty"): pool.faulty_nodes,
        t("region.waiting"): None if waiting is None else len(waiting),
        t("region.phase"): pool.phase or None,
        t("region.kind"): pool.kind or None,
        t("field.pool_id"): pool.pool_id,
        t("region.flavors"): ", ".join(pool.flavors) or None,
    }


def _waiting_rows(pool: Pool, waiting: Sequence[WaitingJob] | None) -> list[dict[str, Any]]:
    return [
        {
            t("region.pool"): pool.name,
            t("region.position"): job.position or None,
            t("region.job"): job.name,
            t("region.user"): job.user or None,
            t("field.flavor"): job.flavor or None,
            t("region.waited"): format_duration(job.waited_s),
        }
        for job in waiting or ()
    ]


def _show_quotas(profile: str) -> None:
    st.subheader(t("region.quotas"))
    quotas = show_answer(core().region_resources.quotas, profile)
    for quota in quotas or ():
        used = MISSING if quota.used is None else f"{quota.used:,}"
        name = t("region.quota_jobs") if quota.resource == "job-num" else escape_markdown(quota.resource)
        st.markdown(t("region.quota", resource=name, used=used, limit=f"{quota.limit:,}"))


def filter_rows(rows: Sequence[Row], texts: Callable[[Row], Sequence[str]]) -> list[Row]:
    """The rows with the text that a person has typed, which is in the URL."""
    text = choose_text(t("region.filter"), t("region.search")).lower()
    return [row for row in rows if text in " ".join(texts(row)).lower()]


def show_rows(
    rows: Sequence[Row], cells: Callable[[Row], dict[str, Any]], title: str, key: str = "page", nothing: str = ""
) -> None:
    """One page of a list, whose number is in the URL."""
    if not rows:
        st.info(nothing or t("region.nothing"), icon=":material/bedtime:")
        return
    pages = url.Pages(key, len(rows), ROWS)
    show_table([cells(row) for row in rows[pages.offset : pages.offset + ROWS]], title)
    pages.show()
    st.caption(t("board.total", total=f"{len(rows):,}"))
