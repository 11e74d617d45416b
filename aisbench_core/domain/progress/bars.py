"""What a progress bar counts, by its description and its unit: a training, or a stage beside it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Stage(StrEnum):
    """What a job does while it does not train."""

    PREPARING = "preparing"
    EVALUATING = "evaluating"
    PREDICTING = "predicting"
    CHECKING = "checking"
    SAVING = "saving"
    OTHER = "other work"


MOST_READ = 120
"""Letters of a description: its end, which is next to the bar."""

# A logger, a launcher or Ray may write in front of a description.
_PREFIX = re.compile(
    r"^(?:\s*(?:\[[^\]]{0,60}\]:?|\([\w.-]{1,40} pid=\d+[^)]{0,40}\)|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d[.,]?\d*|\d{1,3}:"
    r"|(?:INFO|WARNING|DEBUG)\b:?|[-|>]))+"
)
_EPOCH = re.compile(
    r"(?i)epochs?\W{0,3}(\d{1,9})(?:\s*(?:/|of)\s*(\d{1,9}))?|第\s*(\d{1,9})\s*(?:/\s*(\d{1,9})\s*)?[轮輪]"
)
_TRAINS = re.compile(
    r"(?i)^\W*(?:\d+\s*/\s*\d+\W*)?(?:(?:pre|fine-?)?train(?:ing)?|fine-?tun(?:e|ing)|epochs?|(?:global[ _])?steps?"
    r"|iter(?:ation)?s?|batch(?:es)?|updates?|训练|第\s*\d)(?![a-z])"
)
_WHOLE = re.compile(r"(?i)\bprogress\b|^\W*(?:global[ _])?steps?\b")
_DATA = re.compile(
    r"(?i)\b(?:data|datasets?|splits?|tokeni\w+|prepar\w+|load\w*|download\w*|cach\w+|index\w*|pack\w+|map\w*|filter\w*"
    r"|shards?|checkpoints?|files?|images?|labels?|examples?|vocab\w*|sav\w+|writ\w+|sampl\w+)\b|数据|加载|下载"
)
_STAGES = (
    (Stage.CHECKING, re.compile(r"(?i)\bsanity\b")),
    (Stage.SAVING, re.compile(r"(?i)\b(?:sav(?:e|ing)|writing)\b|保存")),
    (Stage.PREPARING, _DATA),
    (Stage.EVALUATING, re.compile(r"(?i)\b(?:val|valid\w*|eval\w*|test(?:ing)?|dev)\b|验证|评估|测试")),
    (Stage.PREDICTING, re.compile(r"(?i)\b(?:predict\w*|generat\w*|infer\w*|rollouts?|sampling)\b|推理|预测")),
)
_STEP_UNITS = re.compile(r"(?i)^(?:it|iters?|iterations?|steps?|ba|batch(?:es)?|updates?|epochs?|ep)?$")
_RATE = re.compile(r"\s*([\d.,]+)\s*(?:([a-zA-Z_]*)/s|s/([a-zA-Z_]+))")


@dataclass(frozen=True, slots=True)
class BarLabel:
    """What a description and a unit say. `stage`: empty if it may be a training, for certain where `is_named`.

    `is_whole`: of all epochs."""

    stage: str = ""
    is_named: bool = False
    epoch: int | None = None
    epochs: int | None = None
    counts_epochs: bool = False
    is_whole: bool = False


@lru_cache(maxsize=1024)
def read_label(label: str, unit: str = "") -> BarLabel:
    """What kind of bar it is. Only one that is called a training, or nothing, counts as one."""
    text = _PREFIX.sub("", label).strip(" :\t-|\b")
    if not _STEP_UNITS.match(unit):
        return BarLabel(_find_stage(text) or Stage.PREPARING)
    if not text:
        return BarLabel(counts_epochs=unit.lower().startswith("ep"))
    found = _EPOCH.search(text)
    names = _TRAINS.match(text)
    if (names and not _DATA.search(text)) or found:
        stage = _find_stage(text)
        if stage and stage is not Stage.PREPARING:
            return BarLabel(stage)
        if found:
            epoch, epochs = (found[1] or found[3]), (found[2] or found[4])
            return BarLabel(is_named=True, epoch=int(epoch), epochs=int(epochs) if epochs else None)
        counts_epochs = unit.lower().startswith("ep") or text.lower() in ("epoch", "epochs", "training epochs")
        return BarLabel(is_named=True, counts_epochs=counts_epochs, is_whole=bool(_WHOLE.search(text)))
    return BarLabel(_find_stage(text) or Stage.OTHER)


def read_rate(rate: str) -> tuple[float | None, str]:
    """Seconds of what the bar counts, and its unit, of `2.5it/s`, `1.2s/it` or `5000.1 examples/s`."""
    found = _RATE.match(rate)
    if found is None:
        return None, ""
    try:
        number = float(found[1].replace(",", ""))
    except ValueError:
        return None, found[2] or found[3] or ""
    if found[3]:
        return number, found[3]
    return (1 / number if number > 0 else None), found[2]


def _find_stage(text: str) -> Stage | None:
    return next((stage for stage, pattern in _STAGES if pattern.search(text)), None)
