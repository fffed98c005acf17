"""Settings of Sphinx: ``make docs`` builds the site. Nothing is fetched from a network."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the extensions there

import riata  # noqa: E402

project = "riata"
author = "The riata developers"
copyright = author
version = release = riata.__version__

extensions = [
    "docstrings",
    "mathml",
    "myst_parser",
    "numpydoc",
    "outside_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
nitpicky = False  # types in docstrings are written for people, as numpydoc has them

# Pages of public names. Types are in the docstrings, and a name without one fails the build.
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_validation_checks = {"GL08"}
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
html_math_renderer = "mathml"

# Headings have the anchors that a git host gives them, so that links work in both places.
myst_heading_anchors = 4

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The scripts of examples/ run while the site is built, but for two that fetch data; an error in one fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "auto_examples/used",
    "doc_module": ("riata",),
    "filename_pattern": r"/(?!mnist_filters|latent_units)\w+\.py$",
    "within_subsection_order": "gallery.InOrder",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "ignore_repr_types": r"matplotlib\.",
    "remove_config_comments": True,
}
# What other libraries warn of in examples is no concern of the site.
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", category=FutureWarning)

html_theme = "pydata_sphinx_theme"
html_title = "riata"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    # None for the front page and the examples.
    "secondary_sidebar_items": {"index": []}
    | {pages: ["page-toc"] for pages in ("*", "api/*", "guide/*", "project/*")},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
