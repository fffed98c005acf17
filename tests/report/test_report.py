"""A report says what the model says, on samples that it was not fitted on, and nothing in it is taken for markup."""

from __future__ import annotations

import copy
import html
import json
import os
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

import riata
from riata import KnockoffSelector, LassoNetClassifier, LassoNetRegressor, StabilitySelector, Training
from riata.evidence import permutation_importance
from riata.report import Report
from riata.report.answer import interval
from riata.report.text import isolated
from riata.survival.groups import of_equal_size
from riata.survival.kaplan_meier import kaplan_meier
from tests.report.tables import ARABIC, KINDS, SCRIPT, case, report, table

SURVIVAL = ["times", "intervals"]


class Page(HTMLParser):
    """The elements of a document, its text outside of scripts, and the data that its script reads."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text, self.data, self._inside = "", "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append(tag)
        given = dict(attributes)
        self._inside = "data" if given.get("id") == "data" else tag if tag in ("script", "style") else ""
        self.addresses += [given[name] for name in ("src", "href", "srcset", "action", "data") if name in given]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif not self._inside:
            self.text += data


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_holds_the_summary(kind):
    made = report(kind)
    assert json.loads(Page(made.to_html()).data) == made.summary


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_scored_as_the_model_at_them(kind):
    model, X, y = case(kind)
    points = report(kind).summary["points"]
    counts = [point["n"] for point in points]
    assert counts == sorted(set(counts))
    assert points[report(kind).summary["at"]]["n"] == model.n_selected_
    for point in points[::3]:
        moved = model if point["n"] == model.n_selected_ else _at(model, point["n"])
        assert point["n"] == moved.n_selected_
        if point["refitted"] or model.refit is None:
            assert point["score"] == pytest.approx(moved.score(X, y), rel=1e-4, abs=1e-5)


def _at(model: Any, n: int) -> Any:
    """Return the model at the point with the smallest λ among those with so many features."""
    return copy.copy(model).at(n_features=n)


@pytest.mark.parametrize("kind", ["two classes", "classes"])
def test_confusion_matrices_are_those_of_predictions(kind):
    model, X, y = case(kind)
    point = report(kind).summary["points"][report(kind).summary["at"]]
    assert point["matrix"] == confusion_matrix(y, model.predict(X), labels=model.classes_).tolist()


@pytest.mark.parametrize("kind", ["number", "quantiles", "numbers", "array", "categories"])
def test_predictions_are_shown_beside_the_truth(kind):
    model, X, y = case(kind)
    summary = report(kind).summary
    truth = np.asarray(y, dtype=float).reshape(len(y), -1).T
    np.testing.assert_allclose(summary["truth"]["true"], truth, rtol=1e-3)
    predicted = np.asarray(model.predict(X)).reshape(len(y), -1).T
    np.testing.assert_allclose(summary["points"][summary["at"]]["predicted"], predicted, rtol=1e-3, atol=1e-6)


def test_survival_curves_are_those_of_groups_of_risk():
    model, X, y = case("times")
    summary = report("times").summary
    groups = summary["points"][summary["at"]]["groups"]
    times = np.linspace(0, y["time"].max(), 60)
    np.testing.assert_allclose(summary["truth"]["times"], times, rtol=1e-3)
    target = riata.check.survival(y)
    curves = np.stack([function(times) for function in model.predict_survival_function(X)])
    for shown, (name, members) in zip(groups, of_equal_size(model.predict(X), 3), strict=True):
        assert (shown["name"], shown["size"]) == (name, members.sum())
        np.testing.assert_allclose(
            np.array(shown["observed"], dtype=float), kaplan_meier(target[members]).at(times)[0], rtol=1e-3
        )
        np.testing.assert_allclose(shown["predicted"], curves[members].mean(axis=0), rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_importances_and_what_is_lost_without_each_feature(kind):
    model, X, y = case(kind)
    columns = report(kind).summary["features"]
    order = columns["index"]
    assert sorted(order) == list(range(model.n_features_in_))
    assert columns["selected"] == model.selected_[order].tolist()
    shown = np.array(columns["importance"], dtype=float)
    np.testing.assert_allclose(shown, np.where(model.selected_, model.feature_importances_, np.nan)[order])
    lost = permutation_importance(model, X, y, n_repeats=20, random_state=0).set_index("feature")["importance"]
    for name, is_in, value in zip(columns["name"], columns["selected"], columns["loss_rise"], strict=True):
        assert (value is not None) == is_in
        if is_in:
            assert value == pytest.approx(lost[name], rel=1e-9)


@pytest.mark.parametrize("kind", ["two classes", "times"])
def test_the_same_seed_gives_the_same_bytes(kind):
    model, X, y = case(kind)
    assert model.report(X, y).to_html() == report(kind).to_html()
    assert model.report(X, y, random_state=1).to_html() != report(kind).to_html()


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_names_are_text(kind):
    page = Page(report(kind).to_html())
    assert page.tags.count("script") == 2  # the data, and riata's own
    assert SCRIPT in page.text and ARABIC in page.text
    summary = report(kind).summary
    assert {SCRIPT, ARABIC} <= set(summary["features"]["name"])
    assert "<" not in page.data


def test_names_of_classes_titles_and_notes_are_text():
    X, signal, _ = table()
    y = pd.Series(np.where(signal > 0, "</script><img src=x>", "b"), name="<b>")
    model = LassoNetClassifier((4,), random_state=0).fit(X[:200], y[:200])
    page = Page(model.report(X[200:], y[200:], title="<i>title</i>").to_html())
    assert page.tags.count("script") == 2 and not {"img", "i", "b"} & set(page.tags)
    assert json.loads(page.data)["truth"]["classes"] == ["</script><img src=x>", "b"]


def test_nothing_is_loaded_from_elsewhere():
    text = report("classes").to_html()
    assert all(address.startswith(("#", "data:,")) for address in Page(text).addresses)
    style, script = re.search(r"<style>(.*?)</style>", text, re.S)[1], text[text.rindex("<script>") :]
    assert not re.search(r"url\(|@import", style) and not re.search(r"fetch\(|XMLHttp|import\(|WebSocket", script)
    assert "default-src 'none'" in text


def test_the_answer_names_the_features_and_the_score():
    model, X, y = case("two classes")
    which, how_good = report("two classes").summary["answer"]
    assert f"uses {model.n_selected_} of 6 features to predict state" in which or "all 6 features" in which
    assert SCRIPT in which and ARABIC in which
    assert (
        f"accuracy is {model.score(X, y):.3f}" in how_good
        and "whether other samples would give the same features was not tested" in how_good
    )


def test_decisions_of_selectors_are_columns_of_the_table():
    X, signal, _ = table()
    estimator = LassoNetRegressor((4,), random_state=0)
    model = estimator.fit(X[:200], signal[:200])
    stability = StabilitySelector(estimator, n_resamples=10, random_state=0).fit(X[:200], signal[:200])
    knockoffs = KnockoffSelector(estimator, fdr=0.4, random_state=0).fit(X[:200], signal[:200])
    summary = model.report(X[200:], signal[200:], stability=stability, knockoffs=knockoffs).summary
    columns = summary["features"]
    order = columns["index"]
    assert columns["stable"] == stability.selected_[order].tolist()
    np.testing.assert_allclose(columns["frequency"], stability.frequencies_[order])
    assert columns["knockoff"] == knockoffs.selected_[order].tolist()
    assert "half-samples" in summary["answer"][1] and "false discovery rate" in summary["answer"][1]


@pytest.mark.parametrize("kind", ["two classes", "times", "categories"])
def test_a_loaded_model_has_the_same_report_but_for_alternatives(kind, tmp_path):
    model, X, y = case(kind)
    model.save(tmp_path / "model.riata")
    before, after = report(kind).summary, riata.load(tmp_path / "model.riata").report(X, y).summary
    assert before["alternatives"] is not None and after["alternatives"] is None
    same = [name for name in before if name not in ("alternatives", "points", "settings", "answer")]
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    answers = [re.sub(r"with all features [^;)]+", "", " ".join(each["answer"])) for each in (before, after)]
    assert answers[0] == answers[1]  # the dense model of a file is not refitted on all samples
    assert after["points"][after["at"]]["score"] == before["points"][before["at"]]["score"]


def test_maps_show_interactions_where_there_are_some(rng):
    X = rng.normal(size=(600, 4))
    model = LassoNetRegressor((20,), random_state=0)
    product = model.fit(X[:400], X[:400, 0] * X[:400, 1]).report(X[400:], X[400:, 0] * X[400:, 1]).summary
    assert product["maps"][0]["features"] == ["x0", "x1"]
    total = X[:, 0] + X[:, 1]
    assert model.fit(X[:400], total[:400]).report(X[400:], total[400:]).summary["maps"] == []


def test_classes_whose_log_odds_add_up_have_no_interactions(rng):
    X = rng.normal(size=(1500, 2))
    y = rng.random(1500) < 1 / (1 + np.exp(-2.5 * X.sum(axis=1)))
    model = LassoNetClassifier((10,), M=0, random_state=0).fit(X[:1000], y[:1000])
    assert model.n_selected_ == 2
    assert model.report(X[1000:], y[1000:]).summary["maps"] == []


@pytest.mark.parametrize("n", [0, 6])
def test_empty_and_full_models_have_reports(n):
    model, X, y = case("number")
    moved = copy.copy(model).load(model.path_[-1 if n == 0 else 0])
    assert moved.n_selected_ == n
    summary = moved.report(X, y).summary
    assert summary["answer"][0].startswith("None of the 6" if n == 0 else "The model uses all 6")
    assert len(summary["effects"]) == n


def test_standard_errors_are_those_of_the_score():
    X, signal, rng = table(2000)
    y = signal + 3 * rng.normal(size=len(X)) > 0
    model = LassoNetClassifier((4,), random_state=0).fit(X[:200], y[:200])
    point = model.report(X[200:], y[200:]).summary
    point = point["points"][point["at"]]
    right = model.predict(X[200:]) == y[200:]
    assert point["score_se"] == pytest.approx(right.std() / np.sqrt(len(right)), rel=0.5)


def test_bad_input_is_refused():
    model, X, y = case("number")
    with pytest.raises(ValueError, match="at least 2 samples"):
        model.report(X[:1], y[:1])
    with pytest.raises(ValueError, match="6 pixels"):
        model.report(X, y, image_shape=(2, 2))
    with pytest.raises(ValueError, match="feature names"):
        model.report(X.iloc[:, :5], y)
    with pytest.raises(ValueError, match=r"inconsistent|samples"):
        model.report(X, y[:-1])
    other = StabilitySelector(LassoNetRegressor((4,)), n_resamples=4, random_state=0).fit(X.iloc[:, :3], y)
    with pytest.raises(ValueError, match="3 features"):
        model.report(X, y, stability=other)


def test_a_file_is_replaced_when_the_new_one_is_complete(tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    report("number").save(file)
    before = file.read_bytes()
    assert before.decode() == report("number").to_html()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        report("two classes").save(file)
    assert file.read_bytes() == before and os.listdir(tmp_path) == ["report.html"]


def test_notebooks_show_the_document_in_a_frame():
    made = report("number")
    frame = made._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == made.to_html()
    assert "allow-same-origin" not in frame and isinstance(made, Report)


def test_long_paths_are_thinned(rng):
    X = rng.normal(size=(200, 150))
    y = X @ np.geomspace(1, 0.01, 150)
    training = Training(path_multiplier=1.03)
    model = LassoNetRegressor((4,), screening=None, select="best", training=training, random_state=0).fit(
        X[:150], y[:150]
    )
    points = model.report(X[150:], y[150:]).summary["points"]
    counts = [point["n"] for point in points]
    assert len(np.unique(model.path_.n_selected)) > 41 >= len(counts)
    few = np.unique(model.path_.n_selected[model.path_.n_selected <= 12])
    assert set(few) <= set(counts) and model.n_selected_ in counts


def test_columns_of_arrays_are_called_by_their_positions():
    summary = report("array").summary
    assert summary["names"] == [f"x{j}" for j in range(6)]
    assert set(summary["alternatives"]) <= set(summary["names"])


def test_a_knockoff_selection_of_nothing_says_how_few_can_never_be_selected():
    X, signal, _ = table()
    estimator = LassoNetRegressor((4,), random_state=0)
    with pytest.warns(UserWarning, match="nothing is selected"):
        knockoffs = KnockoffSelector(estimator, fdr=0.2, random_state=0).fit(X[:200], signal[:200])
    summary = estimator.fit(X[:200], signal[:200]).report(X[200:], signal[200:], knockoffs=knockoffs).summary
    assert "knockoffs select no feature at all at a false discovery rate of 0.2" in summary["answer"][1]
    assert "at which fewer than 5 cannot be selected" in summary["answer"][1]


def test_the_interval_of_an_accuracy_is_that_of_a_share():
    low, high = interval("accuracy", 1.0, 0.0, 20)
    assert (low, high) == pytest.approx((1 / (1 + 1.96**2 / 20), 1.0))  # Wilson's, where all are right
    for right in (3, 50, 97):  # its ends are the shares whose normal interval just holds the accuracy
        for end in interval("accuracy", right / 100, 0.0, 100):
            assert abs(right / 100 - end) == pytest.approx(1.96 * np.sqrt(end * (1 - end) / 100))
    assert interval("R²", 0.5, 0.1, 20) == pytest.approx((0.304, 0.696))
    assert interval("R²", 0.9, 0.1, 20)[1] == 1


def test_of_many_levels_those_that_differ_most_are_drawn_and_the_others_counted(rng):
    town = rng.integers(0, 30, 3000)
    y = np.where(town == 29, 4.0, np.where(town == 28, -4.0, 0.0)) + 0.1 * rng.normal(size=3000)
    X = pd.DataFrame({"town": [f"town {t}" for t in town], "x": rng.normal(size=3000)})
    model = LassoNetRegressor((6,), random_state=0).fit(X[:2000], y[:2000])
    (effect,) = [each for each in model.report(X[2000:], y[2000:]).summary["effects"] if not each["ordered"]]
    assert {"town 29", "town 28"} <= set(effect["values"]) and len(effect["values"]) == 12
    assert (effect["n_compared"], effect["n_levels"]) == (30, 30)
    assert all(name in effect["values"] for name in re.findall(r"for (town \d+)", effect["text"]))
    levels = dict(zip(effect["values"], effect["prediction"][0], strict=True))
    assert min(levels.values()) < effect["average"] < max(levels.values())


def test_names_from_right_to_left_are_isolated_in_sentences_and_others_are_as_they_are():
    which = report("two classes").summary["answer"][0]
    assert f"\u2068{ARABIC}\u2069" in which and SCRIPT in which and which.count("\u2068") == 1
    assert isolated("size") == "size" and isolated("أنثى") == "\u2068أنثى\u2069"


@pytest.mark.parametrize("kind", ["classes", "categories"])
def test_effects_say_of_which_prediction(kind):
    texts = [effect["text"] for effect in report(kind).summary["effects"]]
    assert [text.startswith("probability of ") for text in texts] == [kind == "classes"] * len(texts)
