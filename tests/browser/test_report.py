"""The report in a browser: opened from disk, moved, searched, sorted, downloaded, printed, and read by a machine."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from riata import LassoNetClassifier, LassoNetRegressor
from riata.cli import app
from tests.report.tables import ARABIC, KINDS, SCRIPT, case, report

pytestmark = pytest.mark.xdist_group("browser")
LONGEST = 2.0  # seconds until a page answers
MEGABYTE = 10**6


@pytest.fixture(scope="session")
def demo(browser, tmp_path_factory) -> Path:
    """What the demo writes."""
    folder = tmp_path_factory.mktemp("demo")
    result = CliRunner().invoke(app, ["demo", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    assert (folder / "report.html").stat().st_size <= 2 * MEGABYTE
    return folder


@pytest.fixture
def page(open_file, demo) -> Any:
    return open_file(demo / "report.html")


def data_of(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.locator("#data").text_content())
    return found


def chips(page: Any) -> list[str]:
    texts: list[str] = page.locator(".chips li").all_inner_texts()
    return texts


def names_in_table(page: Any) -> list[str]:
    texts: list[str] = page.locator("#table tbody th").all_inner_texts()
    return texts


def point_at_slider(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = data_of(page)["points"][int(page.locator("#slider").input_value())]
    return found


def check_point(page: Any, point: dict[str, Any]) -> None:
    """The page shows this point of the path: its number, features and score."""
    counted = re.match(r"([\d,]+) features?", page.locator("#readout").inner_text())
    assert int(counted[1].replace(",", "")) == point["n"]
    names = data_of(page)["names"]
    assert sorted(chips(page)) == sorted(names[j] for j in point["selected"])
    if "matrix" in point:
        cells = page.locator(".matrix tbody td").all_inner_texts()
        assert [int(cell.replace(",", "")) for cell in cells] == np.ravel(point["matrix"]).tolist()


def test_the_keyboard_moves_along_the_path(page):
    data = data_of(page)
    slider = page.locator("#slider")
    check_point(page, data["points"][data["at"]])
    slider.focus()
    for key, i in [("Home", 0), ("ArrowRight", 1), ("End", len(data["points"]) - 1)]:
        page.keyboard.press(key)
        assert int(slider.input_value()) == i
        check_point(page, data["points"][i])
        assert f"{data['points'][i]['n']:,} feature" in slider.get_attribute("aria-valuetext")
    page.get_by_role("button", name="Selected model").press("Enter")
    check_point(page, data["points"][data["at"]])


def test_the_mouse_moves_along_the_path(page):
    box = page.locator("#slider").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    assert page.locator("#slider").input_value() == "0"
    check_point(page, data_of(page)["points"][0])
    page.locator("#charts svg").first.click(position={"x": 200, "y": 60})
    assert 0 < int(page.locator("#slider").input_value()) < len(data_of(page)["points"]) - 1
    check_point(page, point_at_slider(page))


def test_the_horizontal_axis_of_the_path_is_to_scale(open_file, written):
    page = open_file(written("classes"))
    counts = [point["n"] for point in data_of(page)["points"]]
    places = [float(dot.get_attribute("cx")) for dot in page.locator("#charts svg").first.locator(".dot").all()]
    steps = np.diff(places) / np.diff(counts)
    assert len(places) == len(counts) and np.allclose(steps, steps[0])


def test_features_outside_the_model_have_no_importance_and_no_loss_rise(page):
    page.get_by_label("Show", exact=True).select_option("all")
    page.locator("#table th button[data-column=importance]").click()
    page.get_by_role("button", name="Next").click()
    rows = page.locator("#table tbody tr").all()
    assert rows and {row.locator("td.number").first.inner_text() for row in rows} == {""}
    assert "–" not in page.locator("#table tbody").inner_text()


def test_linear_weights_are_folded_away(page):
    assert not page.locator("#weights svg").is_visible()
    page.get_by_text("Linear weights of the network").click()
    assert page.locator("#weights svg").is_visible()


def test_what_was_done_with_columns_can_be_read(page):
    page.locator("#columns summary").click()
    names = page.locator("#columns tbody th").all_inner_texts()
    assert names == [row[0] for row in data_of(page)["columns"]] and len(names) == data_of(page)["n_columns"]


def test_the_slider_can_show_lambda(page):
    page.get_by_label("by λ").check()
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    assert page.locator("#slider-label").inner_text().startswith("λ")
    check_point(page, data_of(page)["points"][0])


def test_search_and_filter(page):
    data = data_of(page)
    page.get_by_label("Show", exact=True).select_option("all")
    page.get_by_label("Search").fill("WORST")
    matching = [name for name in data["features"]["name"] if "worst" in name]
    assert sorted(names_in_table(page)) == sorted(matching)
    assert page.locator("#count").inner_text() == f"{len(matching)} features of {data['n_features']}"
    page.get_by_label("Search").fill("no such column")
    assert names_in_table(page) == []
    page.get_by_label("Search").fill("")
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.get_by_label("Show", exact=True).select_option("point")
    assert sorted(names_in_table(page)) == sorted(chips(page))


def test_columns_sort(page):
    page.get_by_label("Show", exact=True).select_option("all")
    columns = pd.DataFrame(data_of(page)["features"])
    header = page.locator("#table th button[data-column=name]")
    header.click()
    assert names_in_table(page) == sorted(columns["name"])[:25]
    header.press("Enter")
    assert names_in_table(page) == sorted(columns["name"], reverse=True)[:25]
    assert page.locator("#table th[aria-sort=descending]").inner_text().startswith("feature")
    page.locator("#table th button[data-column=importance]").click()
    by_importance = columns.sort_values("importance", ascending=False, kind="stable")
    assert names_in_table(page) == by_importance["name"][:25].tolist()
    page.get_by_role("button", name="Next").click()
    assert page.locator("#pages").inner_text().count("page 2 of 3") == 1


def test_the_download_is_the_table_of_the_command_line(page, demo):
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    downloaded = pd.read_csv(download.value.path())
    written = pd.read_csv(demo / "selected.csv")
    assert download.value.suggested_filename == "features.csv"
    pd.testing.assert_frame_equal(downloaded[written.columns], written, check_exact=True)
    page.get_by_label("Show", exact=True).select_option("all")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    assert len(pd.read_csv(download.value.path())) == data_of(page)["n_features"]


def background(page: Any) -> str:
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return colour


def test_the_theme_switches(open_file, demo):
    light, dark = (open_file(demo / "report.html", color_scheme=scheme) for scheme in ("light", "dark"))
    before = background(light), background(dark)
    assert before[0] != before[1]
    light.get_by_role("button", name="Dark theme").click()
    dark.get_by_role("button", name="Light theme").click()
    assert (background(light), background(dark)) == before[::-1]


def test_it_prints(page):
    page.get_by_role("button", name="Dark theme").click()
    printed = page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF") and 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 12
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(names_in_table(page)) == sum(data_of(page)["features"]["selected"])
    assert background(page) == "rgb(255, 255, 255)"
    for hidden in ("#slider", "#theme", "#download"):
        assert not page.locator(hidden).is_visible()
    assert page.locator(".answer").is_visible() and page.locator("#table").is_visible()


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Write reports of small tables of all kinds, once."""
    folder, kinds = tmp_path_factory.mktemp("reports"), set()

    def write(kind: str) -> Path:
        file: Path = folder / f"{kind.replace(' ', '-')}.html"
        if kind not in kinds:
            report(kind).save(file)
            kinds.add(kind)
        return file

    return write


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["demo", "classes", "number", "times", "categories"])
def test_nothing_stands_in_the_way_of_readers(open_file, demo, written, kind, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_file(demo / "report.html" if kind == "demo" else written(kind), color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert len(found.response["passes"]) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_targets_open(open_file, written, kind):
    page = open_file(written(kind))
    points = data_of(page)["points"]
    page.locator("#slider").focus()
    for key, i in [("Home", 0), ("ArrowRight", 1), ("End", len(points) - 1)]:
        page.keyboard.press(key)
        check_point(page, points[i])
    shown = page.locator("main").inner_text()
    assert "NaN" not in shown and "undefined" not in shown and "null" not in shown


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_names_are_text_everywhere(open_file, written, kind):
    page = open_file(written(kind))
    assert page.locator("script").count() == 2
    page.locator("#slider").focus()
    page.keyboard.press("End")
    for name in (SCRIPT, ARABIC):
        assert name in chips(page) and name in names_in_table(page)
        assert name in page.locator(".answer").inner_text()
        assert page.locator("#effects h3", has_text=name).count() == 1
        assert page.locator("#weights svg text", has_text=name[:15]).count() >= 1
    page.get_by_label("Search").fill("<script>")
    assert names_in_table(page) == [SCRIPT]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    assert pd.read_csv(download.value.path())["name"].tolist() == [SCRIPT]


@pytest.mark.parametrize("width", [400, 800])
def test_narrow_windows_do_not_scroll_sideways(open_file, demo, width):
    page = open_file(demo / "report.html", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_can_be_reached_with_the_tab_key(page):
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.dataset.column"))
    assert {"theme", "print", "slider", "by-lambda", "search", "which", "download", "importance"} <= reached


def test_a_notebook_shows_it(open_file, written, tmp_path):
    frame = report("two classes")._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><title>n</title>{frame}", encoding="utf-8")
    page = open_file(tmp_path / "notebook.html")
    inside = page.frame_locator("iframe")
    inside.locator("#slider").focus()
    page.keyboard.press("Home")
    assert inside.locator("#readout").inner_text().startswith("0 features")


def test_ten_thousand_features(open_file, tmp_path, rng):
    names = [f"gene {j}" for j in range(10_000)]
    X = pd.DataFrame(rng.normal(size=(240, 10_000)), columns=names)
    y = X.iloc[:, :5].sum(axis=1).to_numpy() + 0.5 * rng.normal(size=240)
    model = LassoNetRegressor((10,), random_state=0).fit(X[:200], y[:200])
    file = tmp_path / "wide.html"
    model.report(X[200:], y[200:]).save(file)
    assert file.stat().st_size <= 10 * MEGABYTE
    start = time.perf_counter()
    page = open_file(file)
    page.locator("#slider").focus()
    page.keyboard.press("End")
    page.wait_for_function("document.getElementById('readout').textContent.startsWith('10,000 features')")
    page.get_by_label("Show", exact=True).select_option("all")
    page.get_by_label("Search").fill("gene 9999")
    assert names_in_table(page) == ["gene 9999"]
    assert time.perf_counter() - start < LONGEST


def test_images_are_maps_of_pixels(open_file, tmp_path):
    X, y = load_digits(return_X_y=True)
    model = LassoNetClassifier((10,), random_state=0).fit(X[:600], y[:600])
    file = tmp_path / "digits.html"
    model.report(X[600:], y[600:], image_shape=(8, 8)).save(file)
    assert file.stat().st_size <= 2 * MEGABYTE
    page = open_file(file)
    point = point_at_slider(page)
    pixels = page.evaluate(
        "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 == 0)"
    )
    assert np.flatnonzero(np.array(pixels) > 128).tolist() == point["selected"]


def test_a_survival_report_has_curves(open_file, written):
    assert os.path.getsize(written("times")) <= 2 * MEGABYTE
    page = open_file(written("times"))
    assert "Survival by predicted risk" in page.locator("#charts").inner_text()
    curves = page.locator("svg[aria-label^='Survival curves'] path.line")
    assert curves.count() == 6  # of three groups, observed and predicted
    before = curves.first.get_attribute("d")
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    assert curves.first.get_attribute("d") != before
    page.keyboard.press("End")
    assert page.locator(".legend").first.inner_text().count("risk") == 3


def test_models_without_features_have_a_page(open_file, tmp_path):
    model, X, y = case("number")
    moved = model.at(n_features=0)
    moved.report(X, y).save(tmp_path / "empty.html")
    page = open_file(tmp_path / "empty.html")
    assert "None of the 6 features" in page.locator(".answer").inner_text()
    assert not page.locator("#effects").is_visible() and len(names_in_table(page)) == 6
