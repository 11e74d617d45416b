"""docs/doctor.md says the same as the code."""

from aisbench_core.config.settings import HOME
from aisbench_core.maintenance.doctor.diagnosis import CHECKS

DOCUMENT = HOME / "docs" / "doctor.md"
CHECKS_BEGIN = "<!-- checks -->\n\n"


def document() -> str:
    """docs/doctor.md with the list as the code would write it."""
    before, _, rest = DOCUMENT.read_text("utf-8").partition(CHECKS_BEGIN)
    after = rest.partition("\n\n")[2]
    return before + CHECKS_BEGIN + "\n".join(f"* `{check}`: {what}" for check, what in CHECKS.items()) + "\n\n" + after


def test_the_document_lists_every_check() -> None:
    assert DOCUMENT.read_text("utf-8") == document(), "to write it anew: make docs"
