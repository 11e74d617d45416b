"""The Health page: where the console listens, the follower, the cloud, the profile, and how much is stored."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import streamlit as st

from aisbench_core.base.errors import AisbenchError
from aisbench_core.base.formats import MISSING, format_number, format_size
from aisbench_core.maintenance.health import Health
from pages._ui.layout import create_tiles
from pages._ui.shell import navigation
from pages._ui.shell.core import core, right_to, run_cached
from pages._ui.shell.errors import escape_markdown, show_error, show_sentence
from pages._ui.shell.formats import format_time
from pages._ui.shell.tables import show_table
from pages._ui.shell.words import t

LIBRARIES = ("aisbench-console", "streamlit", "duckdb", "huaweicloudsdkmodelarts", "esdk-obs-python")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = "0.0.0.0"  # noqa: S104  # Streamlit's own default, which is reported, not chosen


def show_console() -> None:
    """Where the console listens; as an error where others can reach it."""
    address = str(st.get_option("server.address") or EVERYWHERE)
    port = st.get_option("server.port")
    if core().sessions.needs_sign_in:
        st.markdown(t("health.proxied", address=escape_markdown(address), port=port))
    elif address in LOOPBACK:
        st.markdown(t("health.listens", address=escape_markdown(address), port=port))
    else:
        st.error(t("health.open", address=escape_markdown(address), port=port), icon=":material/lock_open:")


def show_admin_links() -> None:
    """The ways to who changed what, and to who may do what, for who may see it."""
    with st.container(horizontal=True):
        if right_to("Audit.entries").is_given:
            navigation.link_page(navigation.AUDIT, t("menu.audit"), {}, help_text=t("menu.audit_help"))
        if right_to("People.all").is_given:
            navigation.link_page(navigation.PEOPLE, t("menu.people"), {}, help_text=t("menu.people_help"))


def show_versions() -> None:
    """What runs here: last, as it only matters to who reports a bug."""
    versions = [f"{name} {version(name)}" for name in LIBRARIES]
    st.caption(" · ".join([*versions, f"Python {platform.python_version()}"]))


def show_follower_health(health: Health) -> None:
    """Who follows the runs, and when it was last seen."""
    st.header(t("health.follower"))
    beat = health.followed
    if health.ledger_error:
        show_sentence(health.ledger_error)
    elif beat and beat.is_fresh(core().clock()):
        st.success(
            t("menu.followed", who=escape_markdown(t.message(beat.who)), at=format_time(beat.at)),
            icon=":material/check_circle:",
        )
        for one in health.shared:
            who, at = escape_markdown(t.message(one.beat.who)), format_time(one.beat.at)
            profiles = escape_markdown(", ".join(one.profiles)) or t("health.no_profiles")
            st.caption(t("health.shared", who=who, profiles=profiles, at=at))
    elif health.read_only:
        st.warning(t("menu.cannot_follow"), icon=":material/lock:")
    else:
        since = t("menu.not_followed", at=format_time(beat.at)) if beat else t("menu.never_followed")
        st.warning(since, icon=":material/bedtime:")
    for schedule in health.held:
        text = t("health.held", name=escape_markdown(schedule.name), why=escape_markdown(t.message(schedule.why)))
        st.warning(text, icon=":material/pause_circle:")


def show_cloud(health: Health, profile: str) -> None:
    """Each service of the region: whether it answers, and how fast or with which error; and the profile's warning."""
    st.header(t("health.cloud"))
    warned = core().regions.profile(profile)
    if warned.caution:
        st.warning(escape_markdown(t.pick(warned.caution, warned.caution_zh)), icon=":material/lock_open:")
    for service in health.services:
        facts = f"**{escape_markdown(service.name)}**" + (f" `{service.address}`" if service.address else "")
        if service.ok:
            took = format_number(service.milliseconds, "ms", digits=3)
            st.success(f"{facts}: {t('health.answers', time=took)}", icon=":material/check_circle:")
        else:
            st.error(f"{facts}: {escape_markdown(t.message(service.sentence))}", icon=":material/error:")
    st.markdown(t("health.key", summary=escape_markdown(t.message(core().regions.credentials_summary(profile)))))


def show_profile_health(name: str) -> None:
    """The profile as it is used; it holds no secret."""
    st.header(t("health.profile"))
    settings = _list_settings(core().regions.profile(name).model_dump(mode="json"))
    rows = [{"setting": setting, "value": value or MISSING} for setting, value in settings]
    show_table(rows, {"setting": t("health.setting"), "value": t("health.value")}, t("health.profile"))


def _list_settings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values as YAML writes them; what is set by flavor has a row for each flavor."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _list_settings({f"{name}: {key}": inner for key, inner in value.items()})
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def show_sizes(health: Health) -> None:
    """How much is stored; a warehouse that cannot be used is shown with its error."""
    st.header(t("health.stored"))
    results = None
    try:
        results = sum(region.runs for region in run_cached(core().warehouse.facets.list_regions))
    except AisbenchError as error:
        if not core().settings.has_team_warehouse:  # a team's has a line among the services
            show_sentence(error)
    figures = (
        (t("health.runs"), format_number(health.sizes.runs)),
        (t("health.results"), format_number(results)),
        (t("health.disk"), format_size(health.sizes.disk_free)),
        (t("health.ledger"), format_size(health.sizes.ledger)),
        (t("health.warehouse"), format_size(health.sizes.warehouse)),
    )
    places = create_tiles([label for label, _ in figures]).values()
    for place, (label, figure) in zip(places, figures, strict=True):
        place.metric(label, figure, border=True)
    st.caption(t("health.data_dir", path=escape_markdown(str(core().settings.data_dir))))


def show_evidence() -> None:
    """With which key this console signs, and the head of the audit, to be kept elsewhere."""
    head = core().heads.attach()
    if head is None:  # an unreadable ledger, which the follower's section says
        return
    st.header(t("health.evidence"))
    if head.signature:
        st.markdown(t("health.signing_key", fingerprint=head.key))
    else:
        st.warning(t("health.not_signed"), icon=":material/key_off:")
    st.code(str(head), language=None, wrap_lines=True)
    st.caption(t("health.head_help"))


def show_manifests() -> None:
    """Workloads that cannot be used, and why."""
    for file, error in core().workloads.problems():
        st.header(t("health.broken", name=escape_markdown(file.parent.name)))
        show_error(error)
