"""The figures of docs/diagnosis.md: each bench replaces the lines between the two marks of its section."""

import re
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "diagnosis.md"


def put(section: str, rows: Sequence[tuple[str, str]]) -> None:
    """Replace the table of a section, and print it."""
    table = "| figure | measured |\n|---|---|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows)
    print(f"\n{table}", end="")
    begin, end = f"<!-- {section} -->\n", f"<!-- end of {section} -->"
    text = PAGE.read_text("utf-8")
    assert begin in text, f"docs/diagnosis.md has no place for {section}"
    PAGE.write_text(re.sub(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", f"\n{table}\n", text, flags=re.DOTALL))
