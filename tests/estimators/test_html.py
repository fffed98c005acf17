"""Laws of what notebooks show: scikit-learn's diagram and the selection, with every name as text."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from riata import LassoNetImputer, LassoNetRegressor, LassoNetRegressorCV, Training

QUICK = {"hidden_dims": (3,), "training": Training(n_iters=(20, 5), path_multiplier=1.1), "random_state": 0}
SCRIPT = "<script>alert(1)</script>"
ARABIC = "العمر"


class Page(HTMLParser):
    """The texts of a page, those of names by themselves, and the contents of its scripts."""

    def __init__(self, html: str):
        super().__init__()
        self.texts: list[str] = []
        self.names: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self._open.append(tag)
        self.texts += [" "] * (tag == "div")

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside in ("script", "style"):
            self.scripts.append(data)
            return
        self.texts.append(data)
        if inside == "bdi":
            self.names.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(120, 30)), columns=[SCRIPT, ARABIC, "a&b", *(f"x{j}" for j in range(27))])
    return X, (3 * X[SCRIPT] + 2 * X[ARABIC] + X["a&b"]).to_numpy()


@pytest.fixture(scope="module")
def model(data) -> LassoNetRegressor:
    return LassoNetRegressor(n_features_to_select=3, **QUICK).fit(*data)


def test_a_fitted_model_shows_the_diagram_and_what_it_selected(model):
    page = Page(model._repr_html_())
    assert "sk-top-container" in model._repr_html_()
    assert "3 of 30 features selected: " in page.text
    order = np.argsort(-model.feature_importances_)[:3]
    assert page.names == list(model.feature_names_in_[order])
    assert f"λ = {model.lambda_:.3g}" in page.text
    assert f"validation loss {model.point_.val_loss:.3g} ± {model.point_.val_loss_se:.2g}" in page.text


def test_names_of_columns_are_text(model):
    html = model._repr_html_()
    page = Page(html)
    assert set(page.names) == {SCRIPT, ARABIC, "a&b"}
    assert not any("alert(1)" in script for script in page.scripts)
    assert SCRIPT not in html


def test_of_many_features_twenty_names_are_shown(model):
    dense = model.at(lambda_=0, refit=False)
    page = Page(dense._repr_html_())
    assert len(page.names) == 20
    assert "30 of 30 features selected" in page.text and "and 10 more" in page.text


def test_an_empty_selection_is_said(data):
    empty = LassoNetRegressor(select=1e9, **QUICK).fit(*data)
    page = Page(empty._repr_html_())
    assert page.names == []
    assert f"0 of 30 features selected λ = {empty.lambda_:.3g}" in page.text


def test_a_long_name_is_cut_and_columns_without_names_are_numbered(data):
    X, y = data
    long = X.set_axis(["long " * 1000, *(f"column {j}" for j in range(29))], axis=1)
    names = Page(LassoNetRegressor(n_features_to_select=1, **QUICK).fit(long, y)._repr_html_()).names
    assert len(names) == 1 and len(names[0]) == 60 and names[0].endswith("…")
    plain = LassoNetRegressor(n_features_to_select=1, **QUICK).fit(X.to_numpy(), y)
    assert Page(plain._repr_html_()).names == ["x0"]


def test_before_fit_only_the_diagram_is_shown(model):
    page = Page(clone(model)._repr_html_())
    assert page.names == [] and "features selected" not in page.text
    assert "LassoNetRegressor" in page.text


def test_without_validation_the_training_loss_is_shown_and_cross_validation_has_its_score(data):
    X, y = data
    trained = LassoNetRegressor(n_features_to_select=2, val_size=0, **QUICK).fit(X, y)
    assert f"training loss {trained.point_.loss:.3g}" in Page(trained._repr_html_()).text
    cv = LassoNetRegressorCV(cv=2, **QUICK).fit(X, y)
    expected = f"cross-validated R² {cv.cv_score_:.3g} ± {cv.cv_score_se_:.2g} with "
    assert expected in Page(cv._repr_html_()).text


def test_an_imputer_shows_its_selection(data):
    X = data[0].iloc[:, :5].mask(np.random.default_rng(0).random((120, 5)) < 0.1)
    imputer = LassoNetImputer(n_features_to_select=2, **QUICK).fit(X)
    page = Page(imputer._repr_html_())
    assert f"{imputer.n_selected_} of 5 features selected" in page.text
    assert set(page.names) == set(X.columns[imputer.selected_])


def test_a_pipeline_shows_its_own_diagram(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LassoNetRegressor(n_features_to_select=2, **QUICK))
    for shown in (pipeline, pipeline.fit(X, y)):
        html = shown._repr_html_()
        page = Page(html)
        assert "LassoNetRegressor" in page.text and "StandardScaler" in page.text
        assert SCRIPT not in html and not any("alert(1)" in script for script in page.scripts)


def test_the_bundle_of_a_kernel_has_text_and_html(model):
    bundle = model._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/plain"] == repr(model)
    assert "3 of 30 features selected" in Page(bundle["text/html"]).text
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")
