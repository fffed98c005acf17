"""Every input of the corpus, and each that a fuzzer has found, is read or refused; so are all its beginnings."""

from __future__ import annotations

import pytest

from riata.estimators import stored
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS, archive, in_a_file, parts_of

INPUTS = [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in sorted(CORPUS.glob("*/*"))]


@pytest.mark.parametrize("path", INPUTS)
def test_an_input_of_the_corpus_is_read_or_refused(path):
    data = path.read_bytes()
    target = TARGETS[path.parent.name]
    target(data)
    for n in (0, 1, 2, len(data) // 3, len(data) // 2, len(data) - 1):
        target(data[:n])


@pytest.mark.parametrize("path", [each for each in INPUTS if each.id.endswith("archive")])
def test_a_model_of_the_corpus_is_read_whole_and_in_parts(path):
    data = path.read_bytes()[1:]
    parts = parts_of(data)[1:].split(b"\n\0\n", 1)
    for each in (data, archive(*parts)):
        with in_a_file(each, "m.riata") as file:
            assert stored.read(file).model.point_.n_selected >= 0
