"""The colours of versions: told apart by people with any colour vision, and read on light and dark pages."""

import math
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from pages._ui.shell.charts import RAMP, build_colour_ramp

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

MIN_DIFFERENCE = 10.0
"""CIEDE2000 between neighbours; above 2 or so two colours side by side differ, above 10 they do at a glance."""

MIN_CONTRAST = 3.0
"""WCAG 2.1, 1.4.11: of graphics with their background."""

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]

# Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB.
VISIONS: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}

# From linear sRGB to XYZ, and the white of both (D65).
XYZ: Matrix = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE: Triple = (0.95047, 1.0, 1.08883)


@pytest.mark.parametrize("vision", VISIONS)
def test_neighbouring_versions_differ_for_every_kind_of_colour_vision(vision: str) -> None:
    seen = [lab(times(VISIONS[vision], linear(colour))) for colour in (*RAMP, RAMP[0])]

    assert min(ciede2000(one, other) for one, other in pairwise(seen)) >= MIN_DIFFERENCE


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_version_contrasts_with_the_page(theme: str) -> None:
    page = luminance(THEME[theme]["backgroundColor"])

    for colour in RAMP:
        darker, lighter = sorted((page, luminance(colour)))
        assert (lighter + 0.05) / (darker + 0.05) >= MIN_CONTRAST, colour


def test_a_version_keeps_its_colour_when_newer_ones_are_added() -> None:
    versions = [f"r1.{number}" for number in range(3 * len(RAMP))]

    before, after = build_colour_ramp(versions[:2]), build_colour_ramp(versions)

    assert before.items() <= after.items()
    assert all(after[one] != after[other] for one, other in pairwise(versions))


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_of_colours_is_that_of_the_published_examples(
    one: Triple, other: Triple, difference: float
) -> None:
    assert ciede2000(one, other) == pytest.approx(difference, abs=1e-4)


def linear(colour: str) -> Triple:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return _linear(red), _linear(green), _linear(blue)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def dot(one: Triple, other: Triple) -> float:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def times(matrix: Matrix, vector: Triple) -> Triple:
    one, two, three = (min(1.0, max(0.0, dot(row, vector))) for row in matrix)
    return one, two, three


def luminance(colour: str) -> float:
    return dot(XYZ[1], linear(colour))


def lab(rgb: Triple) -> Triple:
    x, y, z = (_lab_curve(dot(row, rgb) / white) for row, white in zip(XYZ, WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _lab_curve(share: float) -> float:
    return float(share ** (1 / 3)) if share > 216 / 24389 else (24389 / 27 * share + 16) / 116


def ciede2000(one: Triple, other: Triple) -> float:
    """Sharma, Wu and Dalal 2005, with all weights 1."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean7 = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * math.sqrt(mean7 / (mean7 + 25**7))
    c1, c2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = h1 + turn / 2 if c1 * c2 else h1 + h2
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    weight = (
        1
        - 0.17 * math.cos(math.radians(hue - 30))
        + 0.24 * math.cos(math.radians(2 * hue))
        + 0.32 * math.cos(math.radians(3 * hue + 6))
        - 0.20 * math.cos(math.radians(4 * hue - 63))
    )
    by_lightness = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2))
    by_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    by_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    angle = 60 * math.exp(-((((hue % 360) - 275) / 25) ** 2))
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * math.sin(math.radians(angle))
    return math.sqrt(by_lightness**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)
