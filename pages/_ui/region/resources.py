"""Tables of what a region offers: flavors, engines, and pools with their queues."""

from collections.abc import Callable, Mapping, Sequence
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
        titles = {
            "flavor": t("field.flavor"),
            "accelerator": t("region.accelerator"),
            "architecture": t("region.architecture"),
            "cards": t("field.cards_per_node"),
            "max_nodes": t("region.max_nodes"),
            **({"price": t("region.price", currency=found[0].currency)} if with_prices and found else {}),
        }
        show_rows(found, _flavor_row, titles, t("region.flavors"))
        if not with_prices:
            st.caption(t("region.no_prices"))


def _flavor_row(row: PricedFlavor) -> dict[str, Any]:
    flavor = row.flavor
    return {
        "flavor": flavor.flavor_id,
        "accelerator": " ".join(filter(None, (flavor.accelerator, flavor.product))) or None,
        "architecture": flavor.architecture or None,
        "cards": flavor.cards,
        "max_nodes": flavor.max_nodes,
        "price": row.price_per_node_hour,
    }


def show_engines(profile: str) -> None:
    """Preset images, by the name and version that a spec names."""
    engines = show_answer(core().region_resources.engines, profile)
    if engines is not None:
        found = filter_rows(engines, lambda engine: (engine.name, engine.version))
        titles = {"name": t("field.engine_name"), "version": t("field.engine_version")}
        show_rows(found, _engine_row, titles, t("region.engines"))


def _engine_row(engine: Engine) -> dict[str, Any]:
    return {"name": engine.name, "version": engine.version}


def show_algorithms(profile: str) -> None:
    """The algorithms that the region keeps, newest first."""
    algorithms = show_answer(core().algorithms.all, profile)
    if algorithms is not None:
        found = filter_rows(
            algorithms, lambda algorithm: (algorithm.name, algorithm.algorithm_id, algorithm.description)
        )
        titles = {
            "name": t("region.algorithm"),
            "engine": t("field.engine_name"),
            "starts": t("region.starts"),
            "created_at": t("region.created"),
            "description": t("region.description"),
            "id": t("region.id"),
        }
        show_rows(found, _algorithm_row, titles, t("region.algorithms"))
        st.subheader(t("region.subscribed"))
        subscribed = show_answer(core().algorithms.list_subscribed, profile)
        if subscribed is not None:
            titles = {
                "name": t("region.algorithm"),
                "version": t("region.version"),
                "subscription_id": t("field.subscription_id"),
                "item_version_id": t("field.item_version_id"),
            }
            show_rows(subscribed, _subscribed_row, titles, t("region.subscribed"), "subscribed")


def _subscribed_row(algorithm: SubscribedAlgorithm) -> dict[str, Any]:
    return {
        "name": algorithm.name or None,
        "version": algorithm.version or None,
        "subscription_id": algorithm.subscription_id,
        "item_version_id": algorithm.item_version_id,
    }


def _algorithm_row(algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": algorithm.name,
        "engine": algorithm.engine,
        "starts": algorithm.command or algorithm.boot_path,
        "created_at": format_time(algorithm.created_at, "%Y-%m-%d %H:%M") if algorithm.created_at else None,
        "description": algorithm.description or None,
        "id": algorithm.algorithm_id,
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
            _show_pool_table(shown, queues)
            pages.show()
            st.caption(t("board.total", total=f"{len(pools):,}"))
        rows = [row for pool in shown for row in _waiting_rows(pool, queues.get(pool.pool_id))]
        titles = {
            "pool": t("region.pool"),
            "position": t("region.position"),
            "job": t("region.job"),
            "user": t("region.user"),
            "flavor": t("field.flavor"),
            "waited": t("region.waited"),
        }
        show_rows(rows, dict, titles, t("region.queue"), "waiting", t("region.no_queue"))
    elif pools is not None:
        st.info(t("region.no_pools"), icon=":material/bedtime:")
    _show_quotas(profile)


def _show_pool_table(pools: Sequence[Pool], queues: Mapping[str, Sequence[WaitingJob] | None]) -> None:
    titles = {
        "name": t("region.pool"),
        "nodes": t("field.node_count"),
        "used": t("region.used"),
        "free": t("region.free"),
        "faulty": t("region.faulty"),
        "waiting": t("region.waiting"),
        "phase": t("region.phase"),
        "kind": t("region.kind"),
        "pool_id": t("field.pool_id"),
        "flavors": t("region.flavors"),
    }
    show_table([_pool_row(pool, queues.get(pool.pool_id)) for pool in pools], titles, t("region.pools"))


def _pool_row(pool: Pool, waiting: Sequence[WaitingJob] | None) -> dict[str, Any]:
    return {
        "name": pool.name,
        "nodes": pool.total_nodes,
        "used": pool.used_nodes,
        "free": pool.free_nodes,
        "faulty": pool.faulty_nodes,
        "waiting": None if waiting is None else len(waiting),
        "phase": pool.phase or None,
        "kind": pool.kind or None,
        "pool_id": pool.pool_id,
        "flavors": ", ".join(pool.flavors) or None,
    }


def _waiting_rows(pool: Pool, waiting: Sequence[WaitingJob] | None) -> list[dict[str, Any]]:
    return [
        {
            "pool": pool.name,
            "position": job.position or None,
            "job": job.name,
            "user": job.user or None,
            "flavor": job.flavor or None,
            "waited": format_duration(job.waited_s),
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
    rows: Sequence[Row],
    cells: Callable[[Row], dict[str, Any]],
    titles: Mapping[str, str],
    alt: str,
    key: str = "page",
    nothing: str = "",
) -> None:
    """One page of a list, whose number is in the URL."""
    if not rows:
        st.info(nothing or t("region.nothing"), icon=":material/bedtime:")
        return
    pages = url.Pages(key, len(rows), ROWS)
    show_table([cells(row) for row in rows[pages.offset : pages.offset + ROWS]], titles, alt)
    pages.show()
    st.caption(t("board.total", total=f"{len(rows):,}"))
