"""Home: what runs and what failed, which benchmarks changed, and what the last week took."""

import streamlit as st

from aisbench_core.exchange.importing.choices import DEMO_REGION
from pages._ui.cards.run_cards import show_stop_dialog
from pages._ui.home.demo import show_demo_notice, show_later_offer
from pages._ui.home.first_steps import show_first_steps
from pages._ui.home.overview import show_overview
from pages._ui.shell import navigation, saved_views, url
from pages._ui.shell.core import core, is_allowed, run_cached
from pages._ui.shell.filters import choose_region, show_rehearsal
from pages._ui.shell.words import t

url.clear_missing()
regions = run_cached(core().warehouse.facets.list_regions)
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    st.title(t("menu.home"))
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        region = choose_region(regions, label_visibility="collapsed") if regions else None
        if region and is_allowed("Runs.launch"):
            navigation.link_main_page(navigation.CONFIGURE, t("menu.configure"), {})
if region:
    saved_views.show_missing()
    show_demo_notice(region)
    if region.region != DEMO_REGION:
        show_rehearsal(region)
    show_overview(region)
    show_later_offer(regions)
else:
    show_overview(None)
    show_first_steps()
show_stop_dialog()
