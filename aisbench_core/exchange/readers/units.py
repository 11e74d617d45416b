"""The units of throughputs in tables: which are known, and which one a text is."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# A rate per second, and nothing else: tokens/s, images/sec, samples per second.
_RATE = re.compile(r"([a-z]+|[一-鿿]+) ?(?:/ ?| per )(?:s|sec|seconds?|秒)")
_PER_CARD = re.compile(r"(?:/ ?| per )(?:p|cards?|npus?|gpus?|devices?|chips?|卡|单卡)(?= ?/|$)")
_CARD_WORDS = re.compile(r"[单每]卡|\bper[ -]?(?:card|npu|gpu|device|chip)\b|单卡")
_STEP_TIME = re.compile(r"(ms|毫秒|s|sec|seconds?|秒) ?(?:/ ?| per )(?:steps?|it|iters?|iterations?|步)")

# The units that are known, and what is counted. With a multiplier (ktokens, 万张) they are others.
_COUNTED = {
    word: unit
    for unit, words in {
        "samples/s": "sample samples image images img imgs frame frames 样本 图片 图像 张 帧",
        "tokens/s": "token tokens tok toks 词元",
        "sentences/s": "sentence sentences 句",
        "sequences/s": "sequence sequences seq seqs 序列",
        "words/s": "word words",
        "steps/s": "step steps 步",
        "iterations/s": "iteration iterations iter iters it",
        "batches/s": "batch batches",
        "examples/s": "example examples",
        "records/s": "record records",
        "queries/s": "query queries",
    }.items()
    for word in words.split()
}

UNITS = tuple(dict.fromkeys(_COUNTED.values()))

LONGEST_HEADER = 256  # characters; a longer cell is text


@dataclass(frozen=True, slots=True)
class Rate:
    """What a throughput is in: `unit` (empty: not stated), of one card or of all, or the seconds of a step.

    `seconds`: what the number has to be multiplied by to be seconds per step; 0 for a rate."""

    unit: str = ""
    is_per_card: bool = False
    seconds: float = 0.0


@lru_cache(1024)  # a column of units repeats few texts
def rate_of(text: str) -> Rate | None:
    """The rate that a text is, as tokens/s/p; None if none that is known. `per card` alone is one without a unit."""
    plain = " ".join(unicodedata.normalize("NFKC", text[:LONGEST_HEADER]).casefold().replace("_", " ").split())
    plain = re.sub(r"\((s|sec) ?[*·] ?([a-z]+)\)", r"\1/\2", plain)
    if plain == "tgs":  # tokens per GPU and second
        return Rate("tokens/s", is_per_card=True)
    if _CARD_WORDS.fullmatch(plain):
        return Rate(is_per_card=True)
    if step := _STEP_TIME.fullmatch(plain):
        return Rate("steps/s", seconds=1e-3 if step[1] in ("ms", "毫秒") else 1.0)
    bare, cards = _PER_CARD.subn("", plain)
    rate = _RATE.fullmatch(bare)
    unit = _COUNTED.get(rate[1], "") if rate else "samples/s" if bare == "fps" else ""
    return Rate(unit, is_per_card=bool(cards)) if unit and cards < 2 else None


def names_one_card(header: str) -> bool:
    """Whether a header says that its numbers are of one card: 单卡吞吐, throughput per card."""
    return bool(_CARD_WORDS.search(unicodedata.normalize("NFKC", header).casefold().replace("_", " ")))
