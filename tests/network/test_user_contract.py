"""A module that breaks the contract is refused before training, with what to change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from riata import LassoNetAutoencoder, LassoNetClassifier, LassoNetRegressor
from riata.network.user import build
from tests.conftest import with_training

D, O = 5, 2  # noqa: E741


def built(network, n_inputs=D, n_outputs=O, dtype=torch.float64):
    return build(network, n_inputs, n_outputs, 0, dtype, torch.device("cpu"))


class Module(nn.Module):
    """A network whose forward is a function of it and of x."""

    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in {"first": nn.Linear(D, 4), "last": nn.Linear(4, O), **parts}.items():
            setattr(self, name, part)
        self._forward = forward

    def forward(self, x):
        return self._forward(self, x)


def plain(**parts):
    return Module(lambda m, x: m.last(m.first(x).relu()), **parts)


def frozen_first():
    module = plain()
    module.first.weight.requires_grad = False
    return module


def hooked():
    module = plain()
    module.first.register_forward_hook(lambda part, args, output: 2 * output)
    return module


def tied():
    module = plain(last=nn.Linear(4, 4), twin=nn.Linear(D, 4), out=nn.Linear(4, O))
    module.twin.weight = module.first.weight
    module._forward = lambda m, x: m.out(m.first(x) @ m.twin.weight @ m.twin.weight.T)
    return module


def counting():
    return plain(counts=nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False))


def not_finite():
    module = plain()
    nn.init.constant_(module.last.bias, torch.nan)
    return module


class Counting(nn.Module):
    """Keeps a running mean of what goes through it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, h):
        if self.training:
            self.mean += 0.1 * (h.mean(0) - self.mean)
        return h - self.mean


class Doubling(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


BROKEN = {
    "a convolution first": (
        nn.Sequential(nn.Conv1d(D, 3, 1), nn.Linear(1, O)),
        r"must go into a torch.nn.Linear\(5, \.\.\.\) first, as it is; here it goes into Conv1d '0'",
    ),
    "a convolution of the input with another shape": (
        Module(lambda m, x: m.last(m.conv(x.unsqueeze(1)).mean(-1)), conv=nn.Conv1d(1, 4, 3)),
        "here it goes into Conv1d 'conv'",
    ),
    "a normalisation first": (nn.Sequential(nn.LayerNorm(D), nn.Linear(D, O)), "here it goes into LayerNorm '0'"),
    "an embedding first": (
        Module(lambda m, x: m.last(m.table(x.long()).mean(1)), table=nn.Embedding(9, 4)),
        "here it goes into Embedding 'table'",
    ),
    "an attention layer first": (
        nn.TransformerEncoderLayer(D, 1, batch_first=True),
        "here it goes into MultiheadAttention 'self_attn'",
    ),
    "functions only": (
        Module(lambda m, x: functional.linear(x, m.matrix), matrix=nn.Parameter(torch.ones(O, D))),
        "no layer of this module gets it",
    ),
    "a part of the input": (
        Module(lambda m, x: m.last(m.first(x[:, :3])), first=nn.Linear(3, 4)),
        r"Linear 'first' gets a tensor of shape \(7, 3\) made from it",
    ),
    "a scaled input": (Module(lambda m, x: m.last(m.first(x * 2))), "Leave the input as it is"),
    "a first layer of another width": (
        nn.Sequential(nn.Linear(6, 4), nn.Linear(4, O)),
        r"Linear '0', takes 6 columns, and there are 5: make it Linear\(5, 4\), or give a function",
    ),
    "too few outputs": (
        nn.Sequential(nn.Linear(D, 4), nn.Linear(4, 1)),
        r"map \(7, 5\) to \(7, 2\), .* it gives \(7, 1\) .* end with a torch.nn.Linear\(\.\.\., 2\)",
    ),
    "an output of another shape": (Module(lambda m, x: m.last(m.first(x)).T), r"it gives \(2, 7\)"),
    "labels": (Module(lambda m, x: m.last(m.first(x)).round().long()), "of type torch.int64"),
    "two results": (Module(lambda m, x: (m.last(m.first(x)), x)), "return one tensor .* got tuple"),
    "infinite outputs": (Module(lambda m, x: m.last(m.first(x)) / 0), "NaN or infinite outputs"),
    "an input that is changed": (Module(lambda m, x: m.last(m.first(x.mul_(2)))), r"changes its input in place"),
    "an input that is used twice": (
        Module(lambda m, x: m.last(m.first(x)) + x[:, :O]),
        "uses its input beside the first layer too: feed it into that layer only",
    ),
    "an input that is used twice, for nothing as yet": (
        Module(lambda m, x: m.last(m.first(x)) + m.gate * x[:, :O], gate=nn.Parameter(torch.zeros(1))),
        "uses its input beside the first layer too",
    ),
    "an input used to mask": (
        Module(lambda m, x: m.last(m.first(x) * (x[:, :1] > 0))),
        "uses its input beside the first layer too",
    ),
    "a layer beside the first": (
        Module(lambda m, x: m.last(m.first(x)) + m.norm(x)[:, :O], norm=nn.LayerNorm(D)),
        r"uses its input beside the first layer too \(norm\)",
    ),
    "two first layers": (
        Module(lambda m, x: m.last(m.first(x) * m.gate(x)), gate=nn.Linear(D, 4)),
        "feeds its input into 2 linear layers, first, gate: make it one",
    ),
    "a first layer that is used twice": (
        Module(lambda m, x: m.last(m.first(x)) + m.last(m.first(-x))),
        "Linear 'first' takes the input, and something else in another call",
    ),
    "batch norm": (
        nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4), nn.Linear(4, O)),
        "BatchNorm1d '1' normalises by statistics of the batch.* torch.nn.LayerNorm",
    ),
    "running statistics": (plain(first=nn.Sequential(nn.Linear(D, 4), Counting())), "buffer first.1.mean changes"),
    "samples that depend on each other": (
        Module(lambda m, x: m.last(m.first(x) - m.first(x).mean(0))),
        "for a sample depends on the other samples",
    ),
    "another function in training": (
        Module(lambda m, x: m.last(m.first(x)) * (2 if m.training else 1)),
        "something else in training mode",
    ),
    "chance in eval mode": (
        Module(lambda m, x: m.last(functional.dropout(m.first(x)))),
        "another output each time in eval mode: draw only if self.training",
    ),
    "dropout of the input": (
        nn.Sequential(nn.Dropout(0.5), nn.Linear(D, O)),
        "move dropout or noise behind that layer",
    ),
    "a weight norm": (
        plain(first=nn.utils.parametrizations.weight_norm(nn.Linear(D, 4))),
        "does not hold its weight as it is .* use a plain torch.nn.Linear",
    ),
    "a hook on the first layer": (hooked(), "does not hold its weight as it is"),
    "a layer of another kind": (plain(first=Doubling(D, 4)), r"something else than x @ weight.T \+ bias"),
    "a weight in two layers": (tied(), "shares its weight with another layer"),
    "a decoder with the weight of the encoder": (
        Module(lambda m, x: functional.linear(m.first(x), m.first.weight.T)[:, :O]),
        "weight of the first layer is read outside of that layer",
    ),
    "a frozen first layer": (frozen_first(), "Linear 'first', is frozen: set requires_grad"),
    "whole numbers as parameters": (counting(), "parameter counts is of type torch.int64"),
    "parameters that are not numbers": (not_finite(), "parameter last.bias holds NaN"),
    "lazy layers": (nn.Sequential(nn.LazyLinear(4), nn.Linear(4, O)), "0.weight has no shape yet"),
    "an output of nothing": (
        Module(lambda m, x: m.last(torch.zeros_like(m.first(x)))),
        "does not depend on its first layer",
    ),
    "a fixed number of samples": (
        Module(lambda m, x: m.last(m.first(x).view(32, 4))),
        r"raised RuntimeError on an input of shape \(7, 5\) in float64: .*invalid for input",
    ),
    "no single sample": (
        Module(lambda m, x: m.last(m.first(x).squeeze().unflatten(1, (2, 2)).flatten(1))),
        "but not on one",
    ),
    "another precision": (
        Module(lambda m, x: m.last(m.first(x.float()).double())),
        "made from it. Leave the input as it is",
    ),
    "a function of something else": (
        lambda n_inputs, n_outputs: [n_inputs],
        r"network\(5, 2\) must return .* returned list",
    ),
    "a function of one number": (lambda n: nn.Linear(n, O), r"network\(5, 2\) raised TypeError"),
}


@pytest.mark.parametrize(("network", "message"), BROKEN.values(), ids=BROKEN)
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature:UserWarning")
def test_what_breaks_the_contract_is_refused_with_what_to_change(network, message):
    with pytest.raises(ValueError, match=message):
        built(network)


def test_the_error_of_a_module_is_passed_on():
    with pytest.raises(ValueError, match="raised KeyError") as caught:
        built(Module(lambda m, x: {}["absent"]))
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_module_that_only_runs_in_one_precision_is_refused():
    module = Module(lambda m, x: m.last(m.first(x) @ torch.eye(4, dtype=torch.float64)))
    built(module)
    with pytest.raises(ValueError, match=r"not in torch.float32 on cpu; make new tensors in its forward like"):
        built(module, dtype=torch.float32)


KEPT = {
    "a linear map": nn.Linear(D, O),
    "one without anything above": nn.Linear(D, O, bias=False),
    "activations in place": nn.Sequential(nn.Linear(D, 4, bias=False), nn.ReLU(inplace=True), nn.Linear(4, O)),
    "the input under another name": nn.Sequential(nn.Flatten(), nn.Identity(), nn.Linear(D, O)),
    "an input whose shape is used": Module(lambda m, x: m.last(m.first(x)) + x.new_zeros(len(x), O)),
    "a first layer that is called twice": Module(lambda m, x: m.last(m.first(x) * m.first(x).sigmoid())),
    "a layer in two places": plain(last=nn.Sequential(*[nn.Linear(4, 4)] * 2, nn.Linear(4, O))),
    "attention within a sample": Module(
        lambda m, x: m.last(m.block(m.first(x).unflatten(1, (2, 2))).flatten(1)),
        block=nn.TransformerEncoderLayer(2, 1, 4, batch_first=True),
    ),
    "half precision": nn.Sequential(nn.Linear(D, 4), nn.Linear(4, O)).half(),
    "a scalar": Module(lambda m, x: m.scale * m.last(m.first(x)), scale=nn.Parameter(torch.tensor(2.0))),
}


@pytest.mark.parametrize("module", KEPT.values(), ids=KEPT)
def test_what_keeps_the_contract_computes_what_the_module_does(module):
    network = built(module)
    weights = network.init(D, [0], torch.float64, torch.device("cpu"))
    X = torch.randn(9, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    output = network.passes(1, 9, X).forward(weights, X)[0]
    exact = module.double().eval()(X) + X @ weights.rows[0, :, :O]
    torch.testing.assert_close(output, exact.detach(), rtol=1e-12, atol=1e-12)


X = np.random.default_rng(0).normal(size=(60, D))
y = X[:, 0] + X[:, 1]


@pytest.mark.parametrize("Estimator", [LassoNetClassifier, LassoNetRegressor, LassoNetAutoencoder])
@pytest.mark.parametrize("network", ["resnet", 2.5, None])
def test_anything_but_a_network_is_refused(Estimator, network):
    with pytest.raises(ValueError, match=r"torch.nn.Module, or a function network\(n_inputs, n_outputs\)"):
        Estimator(hidden_dims=network).fit(X, y > 0)


def test_estimators_pass_the_contract_on():
    with pytest.raises(ValueError, match="LayerNorm"):
        LassoNetRegressor(hidden_dims=nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))).fit(X, y)


def test_dropout_belongs_in_the_module():
    with pytest.raises(ValueError, match=r"put torch.nn.Dropout into the module"):
        LassoNetRegressor(**with_training(hidden_dims=nn.Linear(D, 1), dropout=0.5)).fit(X, y)


def test_a_module_does_not_fit_an_expanded_table_and_a_function_does():
    many, target = np.tile(X, (4, 1)) + np.repeat(np.arange(4), 60)[:, None], np.tile(y, 4)
    with pytest.raises(ValueError, match=r"takes 5 columns, and there are \d+: .* give a function"):
        LassoNetRegressor(hidden_dims=nn.Linear(D, 1), preprocessing="piecewise").fit(many, target)
    model = LassoNetRegressor(
        **with_training(
            hidden_dims=nn.Linear, preprocessing="piecewise", n_iters=(20, 2), path_multiplier=2, select=0.0
        )
    )
    assert model.fit(many, target)._solved.preprocessing.n_inputs == 3 * D
