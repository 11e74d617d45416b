"""The one Core of all sessions, open until the server ends, and caches of what warehouse and ledger answer."""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, ParamSpec, TypeVar

import streamlit as st
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from aisbench_core.base.errors import SignedOut
from aisbench_core.config.identity import Identity
from aisbench_core.config.settings import Settings, load_settings
from aisbench_core.domain.access.permissions import PERMISSIONS, ROLES, has_role
from aisbench_core.domain.summaries.tensorboards import TensorBoards
from aisbench_core.interfaces.web.oidc.session_cookie import session_id_in
from aisbench_core.model import Actor, WayIn, local_actor
from aisbench_core.people.accounts.open_sessions import shown_id
from aisbench_core.people.accounts.people import Person
from aisbench_core.people.accounts.sessions import Session
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from pages._ui.shell.callbacks import repeat_if_aborted
from pages._ui.shell.words import t

P = ParamSpec("P")
R = TypeVar("R")

# How many answers are kept for all sessions together, those that were used last. The ledger's are kept by themselves: a
# follower's heartbeat makes all of them old once a second.
MAX_ANSWERS = 64
MAX_LEDGER_ANSWERS = 256


# Where a browser's connection has its session: on this side, so that nobody can forge or keep it.
SESSION = "session of the person"

# Names by Streamlit's ids of open pages, for requests beside their connections.
_PERSONS: dict[str, str] = {}

_BORROWED: ContextVar[Callable[[], Session] | None] = ContextVar("session of a pressed download button", default=None)


@st.cache_resource(show_spinner=False)
def shared_core() -> Core:
    """The core itself; pages use `core`, which asks who they are."""
    return open_core(served_settings())


def served_settings() -> Settings:
    """The settings, with the port and certificate that Streamlit was started with: links in messages name them."""
    served = {"port": st.get_option("server.port"), "tls_certificate": st.get_option("server.sslCertFile")}
    return load_settings().model_copy(update={name: value for name, value in served.items() if value})


def core() -> Core:
    """The core, for who may use it. Any call raises SignedOut once the session has ended or the access was revoked."""
    signed_in()
    return shared_core()


def default_language() -> str:
    """The settings' language, for what is shown before and after a session."""
    return shared_core().settings.language


@cache
def get_tensorboards() -> TensorBoards:
    """The TensorBoards of all sessions; the server ends them, and passes requests on to them."""
    return TensorBoards()


def signed_in() -> Person | None:
    """Who uses the page; None for a console without sign-in. Raises SignedOut."""
    used = shared_core()
    if not used.sessions.needs_sign_in:
        return None
    if borrowed := _BORROWED.get():
        return _read_person(used, borrowed())
    if used.settings.identity is Identity.PROXY and SESSION not in st.session_state:
        _remember_session(_begin_session(used))
    _remember_session(_choose_check()(active=not is_timer()))
    return _read_person(used, st.session_state[SESSION])


def at_click(content: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
    """The content of a download button: it is written in a thread without the browser's session, and for its person."""
    check = partial(_choose_check(), active=True) if shared_core().sessions.needs_sign_in else None

    def write_content() -> R:
        token = _BORROWED.set(check)
        try:
            return content(*args, **kwargs)
        finally:
            _BORROWED.reset(token)

    return write_content


@repeat_if_aborted
def sign_out() -> None:
    """End the session of this browser, on all its pages."""
    shared_core().sign_ins.end(session_id_in(st.context.cookies))


def own_session() -> str:
    """Which of the open sessions is this browser's."""
    return shown_id(session_id_in(st.context.cookies))


def can_sign_out() -> bool:
    """Whether the session is the console's own: behind a proxy, people sign out there."""
    return shared_core().settings.identity is Identity.OIDC


def _choose_check() -> Callable[..., Session]:
    """What gives the session as of now, or raises SignedOut: with OpenID Connect the browser's, else the page's."""
    used = shared_core()
    if used.settings.identity is Identity.OIDC:
        return partial(used.sign_ins.check_session, session_id_in(st.context.cookies))
    return partial(used.sessions.check_session, st.session_state[SESSION])


def _read_person(used: Core, session: Session) -> Person:
    """Read once for all calls until the ledger changes; a page calls the core some hundred times."""
    return ledger_of(used, used.people.current, session.name)


def _begin_session(used: Core) -> Session:
    """The session of whom the proxy named when the browser connected; web/identity.py has checked the proxy."""
    headers, settings = st.context.headers, used.settings
    groups = headers.get(settings.identity_groups_header) or ""
    return used.sessions.begin(headers.get(settings.identity_user_header) or "", groups)


def _remember_session(session: Session) -> None:
    """Keep the session beside the page, and who it is for requests beside the page's connection."""
    earlier: Session | None = st.session_state.get(SESSION)
    st.session_state[SESSION] = session
    context = get_script_run_ctx()
    if context and (earlier is None or earlier.name != session.name):
        _note_person(context.session_id, session.name)


def _note_person(page: str, name: str) -> None:
    for closed in [other for other in _PERSONS if not get_instance().is_active_session(other)]:
        _PERSONS.pop(closed, None)
    _PERSONS[page] = name


def person_of(page: str) -> str:
    """Who has signed in on an open page, by Streamlit's id of it; empty without sign-in."""
    return _PERSONS.get(page, "")


def ended_session() -> SignedOut | None:
    """Why the page may not be used any more; None if it may."""
    try:
        signed_in()
    except SignedOut as error:
        return error
    return None


def is_timer() -> bool:
    """Whether a fragment runs because its time has come or a widget in it was used, not with the whole page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def actor() -> Actor:
    """Who uses the page. A console without sign-in cannot tell people apart."""
    person = signed_in()
    return person.to_actor(WayIn.CONSOLE) if person else local_actor("console", WayIn.CONSOLE)


@dataclass(frozen=True, slots=True)
class Right:
    """Whether a change is permitted, and the help of a button that is disabled."""

    is_given: bool
    help_text: str | None = None


def right_to(method: str, owner: str | None = None) -> Right:
    """The right to a method of the core; `owner`: who owns what it would change, None for what is new."""
    who, permission = actor(), PERMISSIONS[method]
    needed = permission.needs(of_others=owner not in (None, who.name))
    if has_role(who, needed):
        return Right(is_given=True)
    return Right(is_given=False, help_text=t("menu.needs_role", role=t.message(ROLES[needed])))


def is_allowed(method: str, owner: str | None = None) -> bool:
    """Whether this person may make a change: buttons of changes that only others may make are not shown."""
    return right_to(method, owner).is_given


def run_cached(query: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The answer to one of the warehouse's queries, which is repeated only when it, or a ruleset, has changed.

    Arguments have to be hashable. A page runs anew at every click, and most clicks change nothing of what it shows."""
    state = (core().warehouse.revision(), *_hash_rulesets(args))
    answer: R = _run_query(state, query, *args, **kwargs)  # type: ignore[arg-type]  # lru_cache takes any hashable
    return answer


def _hash_rulesets(values: Sequence[object]) -> Iterator[str]:
    """Hashes of the rulesets that queries name: these are files, which change without the warehouse."""
    for value in values:
        if isinstance(value, BoardQuery) and value.ruleset_id:
            yield core().rulesets.get(value.ruleset_id).sha256


@lru_cache(maxsize=MAX_ANSWERS)
def _run_query(_state: tuple[str, ...], query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return query(*args, **kwargs)


def ledger_answer(query: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The answer to one of the ledger's queries, read once for all sessions until the ledger changes.

    Arguments have to be hashable. What a person has just changed is in it: a commit changes the ledger's revision."""
    return ledger_of(core(), query, *args, **kwargs)


def ledger_of(used: Core, query: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The same of an opened core, before anybody has signed in."""
    revision = used.ledger.revision()
    if revision is None:
        return query(*args, **kwargs)
    answer: R = _ledger_answer(revision, query, *args, **kwargs)  # type: ignore[arg-type]  # lru_cache takes any hashable
    return answer


@lru_cache(maxsize=MAX_LEDGER_ANSWERS)
def _ledger_answer(_revision: str, query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return query(*args, **kwargs)


def profile_in_url() -> str:
    """The profile that a page shows: the URL's, else the settings', else the first; empty when there is none."""
    names = core().regions.names()
    for name in (st.query_params.get("profile", ""), core().settings.profile):
        if name in names:
            return name
    return names[0] if names else ""
