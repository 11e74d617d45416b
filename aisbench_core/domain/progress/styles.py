"""How frameworks print their progress: a file in `styles/` for each, read once.

A file has patterns with names, and lines with what they say, so that another style costs one file."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from aisbench_core.base.documents import parse_document, read_yaml
from aisbench_core.base.messages import make_verbatim
from aisbench_core.model import Scalar
from aisbench_core.model.spec import Frozen

SHIPPED = Path(__file__).parent / "styles"

Text = Annotated[str, Field(min_length=1)]
Fixed = Annotated[str, Field(min_length=1, pattern=r"^[^\d#]+$")]  # digits differ from line to line
Texts = Annotated[tuple[Fixed, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]

_WHOLE = r"\d+(?:,\d{3})*"
_NUMBER = rf"[-+]?(?:{_WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_TIME = r"(?:\d+ ?d(?:ays?)?,? ?)?(?:\d+:\d\d?(?::\d\d?)?(?:\.\d+)?|\d+ ?h[\w ]*|\d+ ?m[\w ]*|\d+ ?s)"

GROUPS: Mapping[str, str] = {
    **dict.fromkeys(("step", "steps", "global_step", "epoch", "epoch_from_0", "epoch_begun", "epochs"), _WHOLE),
    **dict.fromkeys(
        (
            *("epochs_done", "loss", "throughput", "card_throughput", "samples_per_s", "card_samples_per_s"),
            *("tokens_per_s", "card_tokens_per_s", "mean_tokens_per_s", "step_s", "step_ms", "steps_per_s"),
            *("interval_s", "batch"),
            *("memory_gb", "memory_decimal_gb", "memory_mb", "memory_bytes"),
            *("mfu", "mfu_percent", "tflops", "tokens", "tokens_done"),
            *("grad_norm", "learning_rate", "epoch_percent"),
        ),
        _NUMBER,
    ),
    **dict.fromkeys(("eta", "elapsed"), _TIME),
    "stage": r"\w+",
    "label": r"[^\r\n]*?",
    "rate": r"[^\r\n,\]]*",
}
"""The names that groups of a pattern may have, each with what `<name>` stands for in a file of `styles/`."""


LAST_RANK = "last rank"


class StyleSource(Frozen):
    """Where the statement is that prints such lines."""

    project: Text
    version: Text
    file: Text


class StyleLine(Frozen):
    """A kind of line. `has`: text in every such line, searched for first; `pattern`: from which on it is read."""

    has: Texts
    pattern: Text
    also: Annotated[tuple[Text, ...], Field(description="searched for in the same line, in any order")] = ()
    before: Annotated[bool, Field(description="printed before the line that names the step")] = False
    stage: Annotated[str, Field(description="what the job does while it prints such lines instead of training")] = ""


class StyleExample(Frozen):
    """Lines as they are printed, and what is known of the training after the last one."""

    of: Annotated[str, Field(description="another project that prints so")] = ""
    parameters: Mapping[str, Scalar] = {}
    lines: Text
    says: Mapping[str, Scalar]


class ProgressStyle(Frozen):
    """One style. `rank`: it is tried after those of a lower one; general ones have a high one."""

    name: Text
    sources: Annotated[tuple[StyleSource, ...], Field(min_length=1)]
    prints_on: Literal["first rank", "last rank", "every rank"] = "first rank"
    rank: int = 0
    lines: Annotated[tuple[StyleLine, ...], Field(min_length=1)]
    also: Annotated[tuple[Text, ...], Field(description="searched for in lines of each kind")] = ()
    examples: Annotated[tuple[StyleExample, ...], Field(min_length=1)]


@cache
def shipped_styles() -> tuple[ProgressStyle, ...]:
    """Those of the product."""
    return read_styles(SHIPPED)


def read_styles(folder: Path) -> tuple[ProgressStyle, ...]:
    """All of a folder, in the order in which they are tried."""
    files = sorted(folder.glob("*.yaml"))
    styles = [parse_document(ProgressStyle, read_yaml(file), make_verbatim(file.name)) for file in files]
    return tuple(sorted(styles, key=lambda style: style.rank))


def expand_pattern(pattern: str) -> str:
    """A pattern of a file in RE2's words: `<step>` becomes a group for a number, `<*>` anything in between."""
    expanded = re.sub(r"(?<!\?P)<(\w+)>", lambda found: f"(?P<{found[1]}>{GROUPS[found[1]]})", pattern)
    return expanded.replace("<*>", r"[^\r\n]*?")
