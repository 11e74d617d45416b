"""docs/workloads.md names the styles whose progress is read."""

from aisbench_core.config.settings import HOME
from aisbench_core.domain.progress.styles import shipped_styles

DOCUMENT = HOME / "docs" / "workloads.md"
STYLES = "<!-- styles -->\n\n"


def document() -> str:
    """docs/workloads.md with its list of styles as their files would write it."""
    before, found, after = DOCUMENT.read_text("utf-8").partition(STYLES)
    assert found
    names = sorted((style.name for style in shipped_styles()), key=str.casefold)
    return before + STYLES + ", ".join(names) + "\n\n" + after.partition("\n\n")[2]


def test_the_page_names_every_style() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"
