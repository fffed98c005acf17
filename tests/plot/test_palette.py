"""Laws of the palette: lines can be told apart without any kind of cones, and seen on white."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from riata.plot.style import BLUE, GREY, INK, LINES, ORANGE, SLATE, line_of

# Machado, Oliveira and Fernandes (2009), severity 1: what is seen of linear sRGB without one kind of cones.
SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)


def linear(colour: str) -> np.ndarray:
    """Linear sRGB of a colour."""
    given = np.array(to_rgb(colour))
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE Lab of linear sRGB."""
    x, y, z = TO_XYZ @ light.clip(0, 1) / WHITE
    fx, fy, fz = (np.cbrt(each) if each > 216 / 24389 else (24389 / 27 * each + 16) / 116 for each in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def distance(one: str, other: str, seen: np.ndarray) -> float:
    return float(np.linalg.norm(lab(seen @ linear(one)) - lab(seen @ linear(other))))


def contrast_with_white(colour: str) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines."""
    return 1.05 / (TO_XYZ[1] @ linear(colour) + 0.05)


def test_the_measures_are_the_published_ones():
    np.testing.assert_allclose(lab(linear("red")), [53.24, 80.09, 67.20], atol=0.02)
    np.testing.assert_allclose(lab(linear("white")), [100, 0, 0], atol=0.02)
    assert contrast_with_white("black") == pytest.approx(21)
    assert distance("#c00000", "#4a6a00", SEEN["all cones"]) > 3 * distance("#c00000", "#4a6a00", SEEN["deuteranopia"])


@pytest.mark.parametrize("sight", SEEN)
def test_any_two_lines_can_be_told_apart_by_their_colours(sight):
    """A distance of 2.3 is just noticeable in two areas side by side; thin lines need several times that."""
    for one, other in itertools.combinations(LINES, 2):
        assert distance(one, other, SEEN[sight]) >= 18, (one, other)
    assert distance(BLUE, ORANGE, SEEN[sight]) >= 40  # of the two that most figures have
    assert distance(BLUE, GREY, SEEN[sight]) >= 40  # bars of selected features and of others


@pytest.mark.parametrize("colour", [*LINES, INK, SLATE])
def test_lines_and_text_have_the_contrast_with_the_background_that_graphics_need(colour):
    assert contrast_with_white(colour) >= (4.5 if colour in (INK, SLATE) else 3)


def test_lines_differ_in_markers_and_after_six_in_dashes():
    lines = [line_of(i) for i in range(24)]
    assert len({line.marker for line in lines[:6]}) == 6
    assert len({(line.color, line.linestyle) for line in lines}) == 24
