"""What a page shows and does when its session has ended: there is a way to the sign-in, and back to the page."""

from html import escape

import streamlit as st

from aisbench_core.base.errors import SignedOut
from pages._ui.shell.core import can_sign_out
from pages._ui.shell.errors import escape_markdown, show_sentence
from pages._ui.shell.words import t

# Behind a proxy with a path prefix, the server is not at the root.
SERVER_ADDRESS = 'new URL("_stcore/host-config", window.__streamlit.BACKEND_BASE_URL)'

# A page that has lost its connection asks for another one for ever, also from a server that has forgotten its session.
WAY_BACK = """<script>
(() => {
  if (window.wayBack) return;
  window.wayBack = true;
  const lost = '[data-testid="stApp"]:not([data-test-connection-state="CONNECTED"])';
  setInterval(async () => {
    if (!document.querySelector(lost)) return;
    const answer = await fetch(SERVER_ADDRESS, {cache: "no-store"}).catch(() => null);
    if (answer && [401, 403].includes(answer.status)) location.reload();
  }, 3000);
})();
</script>""".replace("SERVER_ADDRESS", SERVER_ADDRESS)


def install_way_back() -> None:
    """Once in the browser: where the server answers and has no session any more, the sign-in takes the page's place."""
    if can_sign_out():
        st.html(WAY_BACK, unsafe_allow_javascript=True)


def show_end(error: SignedOut) -> None:
    """Why the page may not be used any more; with OpenID Connect, with a link to it by way of the sign-in."""
    if not can_sign_out():
        show_sentence(error)
        return
    st.info(escape_markdown(t.message(error.sentence)), icon=":material/logout:")
    st.html(f'<a href="{escape(st.context.url or ".")}">{escape(t("menu.sign_in"))}</a>')
