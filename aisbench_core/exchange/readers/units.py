"""The units of throughputs in tables: which are known, and which one a text is."""

import re
import unicodedata

# A rate per second, and nothing else: tokens/s, images/sec, samples per second.
_RATE = re.compile(r"([a-z]+|[一-鿿]+) ?(?:/ ?| per )(?:s|sec|seconds?|秒)")

# The units that are known, and what is counted. With a multiplier (ktokens, 万张) or per card, they are others.
_COUNTED = {
    word: unit
    for unit, words in {
        "samples/s": "sample samples image images img imgs frame frames 样本 图片 图像 张 帧",
        "tokens/s": "token tokens",
        "sentences/s": "sentence sentences 句",
        "sequences/s": "sequence sequences seq seqs 序列",
        "words/s": "word words",
        "steps/s": "step steps 步",
        "iterations/s": "iteration iterations iter iters",
        "batches/s": "batch batches",
        "examples/s": "example examples",
        "records/s": "record records",
        "queries/s": "query queries",
    }.items()
    for word in words.split()
}

UNITS = tuple(dict.fromkeys(_COUNTED.values()))

LONGEST_HEADER = 256  # characters; a longer cell is text


def unit_of(text: str) -> str:
    """The unit that a text is, as tokens/s; other words for samples/s are that. Empty: none that is known."""
    plain = " ".join(unicodedata.normalize("NFKC", text[:LONGEST_HEADER]).casefold().replace("_", " ").split())
    rate = _RATE.fullmatch(plain)
    return _COUNTED.get(rate[1], "") if rate else "samples/s" if plain == "fps" else ""
