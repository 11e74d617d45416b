"""Where things stand on all pages: no blank space above titles, and tiles side by side, on phones in pairs."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages._ui.run_style import RUN_STYLE
from pages._ui.shell.navigation import MAIN
from pages._ui.shell.saved_views import TITLE

SCRIPTS, TILES = "scripts", "tiles"  # keys of containers
LINE, LINKS = "line", "links"  # what the keys of lines, and of containers of links to pages, begin with

GRID = Path(__file__).with_name("grid")  # the folder of the table

SIDEBAR, GUTTER = 212, 32  # pixels: a window of 1280 leaves 1,004 for what a page shows

# Keys of widgets at the top of pages that have a label.
LABELLED = (
    "profile",
    "show",
    "group",
    "metric",
    "along",
    "days",
    "draft",
    "view",
    "question",
    "at",
    "curve",
    "by",
    "against",
    "baseline",
    "values",
    "images",
    "space",
)

# Until Streamlit has loaded what draws a kind of widget, it draws a box of 40 pixels, from which all below would move.
# What has no key and stands in a row is most often a link, whose margins are within the lines beside it.
_PLACEHOLDERS = f"""
    body :where([data-testid="stHorizontalBlock"] > [data-testid="stElementContainer"]:not([class*="st-key-"])) >
        [data-testid="stSkeleton"],
    [class*="st-key-menu-"] [data-testid="stSkeleton"],
    [class*="st-key-{LINKS}-"] [data-testid="stSkeleton"] {{ height: 20px; }}
    .st-key-run-links [data-testid="stSkeleton"],
    .st-key-cause [data-testid="stElementContainer"]:not([class*="st-key-"]) > [data-testid="stSkeleton"] {{
        height: 22px; }}
    body .st-key-filter-bar:has(.st-key-region) [data-testid="stSkeleton"] {{ height: 40px; }}
    body .st-key-filter-bar:has(.st-key-who) [data-testid="stSkeleton"] {{ height: 68px; }}
    .st-key-all [data-testid="stSkeleton"] {{ height: 24px; }}
    body [data-testid="stHorizontalBlock"]:has(> .st-key-baseline) > .st-key-by [data-testid="stSkeleton"] {{
        height: 40px; }}
    .st-key-{TILES} [data-testid="stSkeleton"] {{ height: 108px; }}
    [class*="st-key-about-"] [data-testid="stElementContainer"]:not([class*="st-key-"]):has(
        [data-testid="stSkeleton"]) {{ position: absolute; visibility: hidden; }}
    [class*="st-key-spec-"] [data-testid="stSkeleton"],
    {", ".join(f'.st-key-{key} [data-testid="stSkeleton"]' for key in LABELLED)} {{ height: 68px; }}
"""

# One line for one thing, with its buttons at the right end; what does not fit into two rows of text is cut.
_LINES = f"""
    body [class*="st-key-{LINE}-"] {{ min-height: 44px; justify-content: center;
        border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }}
    body [class*="st-key-{LINE}-"] p, body .st-key-{LINKS}-week p {{ font-size: .875rem; line-height: 1.25rem; }}
    [class*="st-key-{LINE}-"] [data-testid="stMarkdown"] p {{ display: -webkit-box; -webkit-line-clamp: 2;
        -webkit-box-orient: vertical; overflow: hidden; }}
    [class*="st-key-{LINE}-"] [data-testid="stPageLink"] p {{ overflow: hidden; text-overflow: ellipsis; }}
    [class*="st-key-{LINE}-"] button {{ min-height: 32px; padding-block: 2px; }}
    body [class*="st-key-{LINE}-"] > * > [data-testid="stHorizontalBlock"],
    body [class*="st-key-{LINE}-"] > [data-testid="stHorizontalBlock"] {{ min-height: 32px; align-items: center; }}
    [class*="st-key-{LINE}-"] [data-testid="stSkeleton"] {{ height: 20px; }}
    body [class*="st-key-{LINE}-"] [data-testid="stColumn"]:last-child [data-testid="stSkeleton"] {{ height: 32px; }}
    [class*="st-key-{LINE}-failed"], [class*="st-key-{LINE}-regression"] {{ --sign: light-dark(#a3141a, #ff9a94); }}
    [class*="st-key-{LINE}-alert"] {{ --sign: light-dark(#854600, #ffc078); }}
    [class*="st-key-{LINE}-improvement"] {{ --sign: light-dark(#0b6132, #7fdba3); }}
    [class*="st-key-{LINE}-active"] {{ --sign: light-dark(#0a4fb8, #9cc4ff); }}
    [class*="st-key-{LINE}-"] [data-testid="stColumn"]:first-child
        [data-testid="stIconMaterial"] {{ color: var(--sign); }}
    @media (max-width: 640px) {{
        body [class*="st-key-{LINE}-"] {{ padding-block: 6px; }}
        body [class*="st-key-{LINE}-"] [data-testid="stHorizontalBlock"] {{ row-gap: 2px; }}
        [class*="st-key-{LINE}-"] [data-testid="stColumn"]:not(:nth-child(3)) [data-testid="stSkeleton"] {{
            height: 12px; }}
    }}
"""

# Links that look like the buttons beside them: the main one of a page, and those at the end of a line.
_LINKS = f"""
    body [class*="st-key-{MAIN}-"] a, body [class*="st-key-{LINE}-"] [data-testid="stColumn"]:last-child a {{
        margin: 0; border: 1px solid color-mix(in srgb, CanvasText 22%, transparent); border-radius: .5rem; }}
    body [class*="st-key-{MAIN}-"] a {{ min-height: 40px; padding-inline: .75rem; border-color: transparent;
        background: light-dark(#0b57d0, #2a6fd6); }}
    body [class*="st-key-{MAIN}-"] a:hover {{ background: light-dark(#0a4cb5, #2461bc); }}
    body [class*="st-key-{MAIN}-"] a * {{ color: #fff; }}
    [class*="st-key-{MAIN}-"] [data-testid="stSkeleton"] {{ height: 40px; }}
    body [class*="st-key-{MAIN}-"] > [data-testid="stElementContainer"] {{ margin: 0; }}
    body [class*="st-key-{LINE}-"] [data-testid="stColumn"]:last-child a {{ min-height: 32px; padding: 2px .75rem; }}
"""

# It stands in the page's head: what a script sends comes after the first elements, which would move then. Streamlit's
# rules of one class come later than these, hence `body`. Room for the menu is kept until it is there. An icon is a word
# until its font has come, wider than the menu. A window of less than 640 pixels has one column, and a number needs no
# line of its own.
STYLE = f"""<style>
    body [data-testid="stMainBlockContainer"] {{ max-width: none; padding: 2.75rem {GUTTER}px 4rem; }}
    body [data-testid="stMainBlockContainer"] h1 {{ padding: .25rem 0; }}
    body [data-testid="stHeader"] {{ background: none; pointer-events: none; }}
    body [data-testid="stHeader"] > * {{ pointer-events: auto; }}
    body [data-testid="stSidebarHeader"] {{ margin-bottom: 0; }}
    body [data-testid="stSidebarContent"] {{ padding-inline: 14px; }}
    body [data-testid="stCaptionContainer"] code {{ color: inherit; }}
    body [data-testid="stSidebarUserContent"] {{ padding-bottom: 1rem; }}
    body div:has(> .st-key-{SCRIPTS}) {{ position: absolute; width: 0; }}
    body [data-testid="stIconMaterial"] {{ width: 1em; overflow: hidden; white-space: nowrap; }}
    {_PLACEHOLDERS}{_LINES}{_LINKS}{RUN_STYLE}
    @media (min-width: 768px) {{
        body [data-testid="stAppViewContainer"]:not(:has([data-testid="stSidebar"])) {{ padding-left: {SIDEBAR}px; }}
    }}
    body [class*="st-key-about-"] {{ position: relative; }}
    body [class*="st-key-about-"] > :nth-child(2) {{ position: absolute; inset: 0; pointer-events: none; }}
    [class*="st-key-about-"] [data-testid="stSkeleton"] {{ height: 68px; }}
    @media (max-width: 767px) {{ body [data-testid="stMainBlockContainer"] {{ padding-top: 4rem; }} }}
    @media (max-width: 640px) {{
        body [data-testid="stMainBlockContainer"] {{ padding-inline: 16px; }}
        .st-key-{TILES} [data-testid="stColumn"] {{ min-width: 9rem; }}
        body :is(.st-key-{TITLE}-leaderboard, .st-key-{TITLE}-runs) > *, body .st-key-tools-runs {{ flex-basis: 100%; }}
        body :is(.st-key-{TITLE}-leaderboard, .st-key-{TITLE}-runs) > :last-child {{ min-height: 40px; gap: 4px; }}
        body .st-key-tools-runs {{ min-height: 40px; }}
    }}
</style>"""


def build_head() -> str:
    """What belongs into the head of each page: the style, the table's script and style, which each table would send
    again, and the font of icons, asked for before a script names it."""
    [font] = Path(st.__file__).parent.glob("static/static/media/MaterialSymbols-Rounded.*.woff2")
    link = f'<link rel="preload" href="./static/media/{font.name}" as="font" type="font/woff2" crossorigin>'
    script, style = ((GRID / name).read_text("utf-8") for name in ("table.js", "table.css"))
    return f'{link}{STYLE}<style>{style}</style><script type="module">{script}</script>'


def create_script_container() -> DeltaGenerator:
    """A container for what the browser runs: it takes no room."""
    return st.container(key=SCRIPTS)


def create_tiles(names: Sequence[str]) -> dict[str, DeltaGenerator]:
    """A column for each number at the top of a page, by its name; once on a page."""
    with st.container(key=TILES):
        return dict(zip(names, st.columns(len(names)), strict=True))
