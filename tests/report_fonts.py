"""Makes the fonts that reports embed, of the letters that our words have: `make fonts`."""

import importlib
import io
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

FONTS = Path(__file__).parents[1] / "aisbench_core" / "exchange" / "report" / "fonts"

# Latin with its accents, Greek, Cyrillic; punctuation, currencies, arrows, operators, shapes; Chinese punctuation and
# full width. Sources lack some of them.
BLOCKS = (
    (0x20, 0x24F), (0x370, 0x45F), (0x2000, 0x206F), (0x20A0, 0x22FF), (0x25A0, 0x25FF), (0x3000, 0x303F),
    (0xFF00, 0xFFEF),
)  # fmt: skip


def our_letters() -> set[str]:
    """Of all words that may stand in a report: catalogue, texts, rules, and the report's own templates and code."""
    files = [path for suffix in ("po", "yaml", "jinja") for path in FONTS.parents[2].rglob(f"*.{suffix}")]
    files += FONTS.parent.glob("*.py")
    return {char for path in files for char in path.read_text("utf-8") if char.isprintable()}


def make_fonts() -> None:
    letters = our_letters() | {chr(code) for first, last in BLOCKS for code in range(first, last + 1)}
    for name, family, source, weight in (
        ("regular", "AISBench Report", _read_chinese(), 400),
        ("bold", "AISBench Report", _read_chinese(), 700),
        ("monospace", "AISBench Report Mono", _read("fontpkg_source_code_pro", "files/SourceCodePro[wght].ttf"), 400),
    ):
        font = _instance(source, letters, weight)
        _rename(font, family, weight)
        font.flavor = "woff2"
        font.save(FONTS / f"{name}.woff2")
        print(f"{name}.woff2: {len(font.getBestCmap())} letters, {(FONTS / f'{name}.woff2').stat().st_size // 1000} kB")


def _read(package: str, file: str, number: int = -1) -> Any:
    path = Path(str(importlib.import_module(package).__file__)).parent / file
    return TTFont(path, fontNumber=number, lazy=True, recalcTimestamp=False)


def _read_chinese() -> Any:
    """Fonts of the collection share their glyphs: the third has the forms of simplified Chinese, in which a dot and an
    apostrophe are as wide as a Chinese letter; the second, Korean, has them as narrow as Latin text wants them."""
    korean, chinese = (_read("manimgx_fonts_cjk", "NotoSansCJK-VF.otf.ttc", number) for number in (1, 2))
    narrow = {ord(char): korean.getGlyphID(korean.getBestCmap()[ord(char)]) for char in "·’"}
    for table in chinese["cmap"].tables:
        if table.isUnicode() and table.format != 14:  # of variants
            table.cmap |= {code: chinese.getGlyphName(glyph) for code, glyph in narrow.items()}
    return chinese


def _instance(font: Any, letters: set[str], weight: int) -> Any:
    """Of a variable font, the letters in one weight."""
    options = subset.Options(layout_features=["kern", "mark"], hinting=False, notdef_outline=True)
    options.drop_tables += ["BASE", "GSUB", "STAT", "VORG", "meta", "vhea", "vmtx"]  # for vertical text and variants
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(sorted(letters)))
    subsetter.subset(font)
    instance = _reread(instancer.instantiateVariableFont(_reread(font), {"wght": weight}))
    if "CFF2" in instance:
        _replace_cff2(instance)
    return instance


def _reread(font: Any) -> Any:
    """As written to a file: subsetting leaves tables that the instancer cannot read."""
    content = io.BytesIO()
    font.save(content)
    content.seek(0)
    return TTFont(content, recalcTimestamp=False)  # the same letters are the same bytes


def _replace_cff2(font: Any) -> None:
    """PDF knows no CFF2, so outlines are drawn anew as CFF."""
    glyphs, outlines = font.getGlyphSet(), {}
    for name in font.getGlyphOrder():
        pen = T2CharStringPen(glyphs[name].width, glyphs)
        glyphs[name].draw(pen)
        outlines[name] = pen.getCharString()
    del font["CFF2"]
    FontBuilder(font=font).setupCFF("AISBenchReport", {}, outlines, {})


def _rename(font: Any, family: str, weight: int) -> None:
    """The licence reserves the sources' name for what is unchanged. Copyright and licence stay in the font."""
    names, style = font["name"], "Bold" if weight == 700 else "Regular"
    names.names = [each for each in names.names if each.nameID in {0, 13, 14}]
    postscript = f"{family}-{style}".replace(" ", "")
    for name_id, text in ((1, family), (2, style), (3, postscript), (4, f"{family} {style}"), (6, postscript)):
        names.setName(text, name_id, 3, 1, 0x409)


if __name__ == "__main__":
    make_fonts()
