"""Paths of modules: inputs, filters and bottlenecks, and exported models with the same outputs."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from riata.nn import Attached, HiddenEntries, LassoInput, SparseUnits, hidden_error, path, select

QUICK = {"epochs": (8, 1), "path_multiplier": 1.5}


def squared_errors(output, target):
    return (output - target).square().sum(-1)


# Inputs.


class Model(nn.Module):
    def __init__(self, d: int = 12):
        super().__init__()
        self.input = LassoInput(d, 8, 1)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        skip, hidden = self.input(x)
        return skip + self.rest(hidden)


def frozen() -> Model:
    model = Model()
    model.input.skip.weight.requires_grad_(False)
    return model


def table(n: int = 400, d: int = 12) -> TensorDataset:
    X = torch.randn(n, d)
    return TensorDataset(X, X[:, :1] + X[:, 1:2] * 0.7 + (X[:, 2:3] > 0) + 0.1 * torch.randn(n, 1))


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_path_finds_the_true_inputs(reduction):
    loss = squared_errors if reduction == "none" else nn.functional.mse_loss
    data, val = DataLoader(table(), 50, shuffle=True), DataLoader(table(100), 25)
    optimizer = None if reduction == "none" else lambda ps: torch.optim.Adam(ps, lr=3e-3)
    found = path(Model(), loss, data, val=val, epochs=(30, 2), path_multiplier=1.2, optimizer=optimizer)
    assert found[0].n_selected == 12 and found[0].lambda_ == 0
    assert found[-1].n_selected == 0
    assert (np.diff(found.lambdas) > 0).all()
    assert set(np.argsort(-found.importances())[:3]) == {0, 1, 2}
    assert len(found[0].val_losses) == (100 if reduction == "none" else 4)
    for rule in ("1se", "best", "elbow"):
        assert select(found, rule).selected[:3].all()
    assert select(found, n_units=3).n_selected <= 3
    assert select(found, found.lambdas[2]) is found[2]


def test_the_state_of_a_point_gives_the_model_its_weights():
    data = DataLoader(table(100), 50)
    model = Model()
    found = path(model, squared_errors, data, **QUICK)
    X = torch.randn(5, 12)
    for point in (found[0], found[len(found) // 2]):
        model.load_state_dict(point.state)
        assert (model.input.selected.numpy() == point.selected).all()
        changed = X.clone()
        changed[:, ~point.selected] = 7.0
        torch.testing.assert_close(model(X), model(changed))
    assert np.isnan(found[0].val_loss)


def test_a_refit_has_a_lower_loss_and_the_same_selection():
    data = DataLoader(table(200), 50, shuffle=True)
    model = Model()
    penalised, refitted = (
        path(copy.deepcopy(model), squared_errors, data, epochs=(20, 1), path_multiplier=1.5, refit=refit)
        for refit in (0, 10)
    )
    point = refitted[last_with_three(refitted)]
    assert point.loss < penalised[last_with_three(penalised)].loss
    model.load_state_dict(point.state)
    assert (model.input.selected.numpy() == point.selected).all()
    for before, after in pairwise(refitted):
        assert (before.selected != after.selected).any()


def last_with_three(found) -> int:
    return int(np.flatnonzero(found.n_selected >= 3)[-1])


def test_a_path_visits_the_given_lambdas_and_ends_at_the_given_number_of_units():
    data = DataLoader(table(100), 50)
    found = path(Model(), squared_errors, data, lambda_seq=[0.01, 0.02, 0.04], epochs=(2, 1))
    assert found.lambdas.tolist() == [0, 0.01, 0.02, 0.04]
    found = path(Model(), squared_errors, data, until=5, **QUICK)
    assert found[-1].n_selected <= 5 < found[-2].n_selected


class Interrupted:
    """Two batches; the user interrupts after the first one in the epoch ``after``."""

    def __init__(self, after: int):
        self.batches, self.left = [table(50).tensors, table(50).tensors], after

    def __iter__(self):
        self.left -= 1
        yield self.batches[0]
        if not self.left:
            raise KeyboardInterrupt
        yield self.batches[1]


@pytest.mark.parametrize("training", [True, False])
def test_an_interrupt_is_raised_with_the_model_at_the_last_complete_point(training):
    model = Model().train(training)
    twin = copy.deepcopy(model)
    data = Interrupted(after=10)  # training: 1-2 dense, 4, 6, 8, 10 at a λ; evaluation: 3, 5, 7, 9
    given = {"lambda_seq": [0.01, 0.02, 0.04, 0.08, 0.16], "epochs": (2, 1)}
    with pytest.raises(KeyboardInterrupt):
        path(model, squared_errors, data, **given)
    complete = path(twin, squared_errors, data.batches, **given)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, complete[3].state[name])
        assert not torch.equal(weight, complete[4].state[name])
    assert all(part.training == training for part in model.modules())


def test_an_interrupt_of_the_search_for_the_first_lambda_leaves_the_dense_model():
    model = Model()
    twin = copy.deepcopy(model)
    data = Interrupted(after=4)
    with pytest.raises(KeyboardInterrupt):
        path(model, squared_errors, data, epochs=(2, 1))
    dense = path(twin, squared_errors, data.batches, lambda_seq=[0.1], epochs=(2, 1))[0]
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, dense.state[name])


def test_losses_of_batches_are_weighted_by_size():
    X, y = table(60).tensors
    y[50:] += 100
    batches = [(X[:50], y[:50]), (X[50:], y[50:])]
    samples, means = (
        path(copy.deepcopy(Model()), loss, batches, val=batches, lambda_seq=[0.1], epochs=(1, 1))[0]
        for loss in (squared_errors, nn.functional.mse_loss)
    )
    assert means.val_loss == pytest.approx(samples.val_loss, rel=0.05)  # other initial weights


def test_one_batch_mean_has_no_standard_error():
    batch = [table(60).tensors]
    found = path(Model(), nn.functional.mse_loss, batch, val=batch, **QUICK)
    with pytest.raises(ValueError, match="reduction='none'"):
        select(found)
    assert select(found, "best").n_selected > 0
    with pytest.raises(ValueError, match="at most 3 units: it ends with"):
        select(found[:2], n_units=3)


def test_submodules_in_evaluation_mode_stay_in_it():
    model = Model()
    model.rest.insert(1, nn.BatchNorm1d(8).eval())
    statistics = model.rest[1].running_mean.clone()
    path(model, squared_errors, DataLoader(table(60), 30), **QUICK)
    assert model.training and not model.rest[1].training
    assert torch.equal(model.rest[1].running_mean, statistics)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": nn.Linear(12, 1)}, ValueError, "use a LassoInput"),
        ({"data": iter([])}, ValueError, "as a DataLoader does"),
        ({"data": [{"x": torch.ones(2, 12)}]}, TypeError, "a batch must be a tensor or a sequence"),
        ({"loss": lambda output, target: 1.0}, TypeError, "loss must return a tensor"),
        ({"loss": lambda output, target: output.sum() * torch.nan}, ValueError, "no longer finite"),
        ({"M": -1}, ValueError, "M"),
        ({"epochs": (0, 1)}, ValueError, "epochs"),
        ({"path_multiplier": 1.0}, ValueError, "path_multiplier"),
        ({"optimizer": lambda ps: torch.optim.AdamW(ps)}, ValueError, "weight_decay"),
        ({"model": frozen()}, ValueError, "requires_grad=False"),
        ({"model": LassoInput(12, 4, 1, costs=[0.0] * 12)}, ValueError, "all costs are 0"),
    ],
)
def test_invalid_input_is_refused(change, error, message):
    given = {"model": Model(), "loss": squared_errors, "data": DataLoader(table(20), 10), **QUICK, **change}
    with pytest.raises(error, match=message):
        path(**given)


# Filters and bottlenecks.


class Convolutional(nn.Module):
    def __init__(self, *, flat: bool = False):
        super().__init__()
        self.conv1, self.norm, self.act = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.PReLU(6)
        self.conv2 = nn.Conv2d(6, 4, 3)
        self.head = nn.Linear(6 * 6 * 6 if flat else 4, 3)
        self.flat = flat

    def forward(self, x):
        h = self.act(self.norm(self.conv1(x)))
        if self.flat:
            return self.head(h.flatten(1))
        return self.head(self.conv2(h).relu().mean((2, 3)))


def sparse(**how) -> SparseUnits:
    model = Convolutional(**how)
    into = "head" if model.flat else "conv2"
    return SparseUnits(model, "conv1", into, ["norm", "act"], example=torch.zeros(2, 1, 8, 8))


def without(model: SparseUnits, units: list[int]) -> SparseUnits:
    """Set the weights of some units to zero."""
    with torch.no_grad():
        for weight, axis in model.hierarchy.weights():
            blocks = weight.movedim(axis, 0).unflatten(0, (model.hierarchy.n_units, -1))
            blocks[units] = 0
    return model


@pytest.mark.parametrize("flat", [False, True], ids=["convolution", "flattened"])
@pytest.mark.parametrize("training", [False, True])
def test_an_exported_model_is_smaller_and_has_the_same_outputs(flat, training):
    model = sparse(flat=flat)
    model(torch.randn(50, 1, 8, 8))  # updates the running statistics
    without(model, [0, 3, 4]).train(training)
    assert model.selected.tolist() == [False, True, True, False, False, True]
    small = model.export()
    assert small.training == model.training == training
    assert small.model.conv1.out_channels == 3
    assert sum(p.numel() for p in small.parameters()) < 0.7 * sum(p.numel() for p in model.parameters())
    X = torch.randn(7, 1, 8, 8)
    torch.testing.assert_close(small.eval()(X), model.eval()(X), atol=1e-5, rtol=0)
    unpickled = pickle.loads(pickle.dumps(small))
    torch.testing.assert_close(unpickled(X), small(X))
    assert small.selected.all() and small.export().model.conv1.out_channels == 3


def test_a_model_is_exported_after_a_change_of_dtype_and_the_example_changes_no_state():
    net = Convolutional()
    net.norm.eval()
    model = SparseUnits(net, "conv1", "conv2", ["norm", "act"], example=torch.randn(4, 1, 8, 8))
    assert net.training and not net.norm.training
    assert torch.equal(net.norm.running_mean, torch.zeros(6))
    small = without(model.double(), [2]).export()
    assert small.model.conv1.weight.dtype == torch.float64


def test_units_of_a_linear_layer_lie_along_the_last_axis():
    net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    model = SparseUnits(net, "0", "2", ["1"], example=torch.randn(4, 7, 3))
    assert model(torch.randn(4, 7, 3)).shape == (4, 7, 2) and model.hierarchy.n_units == 5


def test_an_export_is_refused_where_units_reach_the_output_through_other_layers():
    class Mixed(Convolutional):
        def forward(self, x):
            h = self.act(self.norm(self.conv1(x))).softmax(1)
            return self.head(self.conv2(h).relu().mean((2, 3)))

    model = SparseUnits(Mixed(), "conv1", "conv2", ["norm", "act"], example=torch.zeros(2, 1, 8, 8))
    with pytest.raises(ValueError, match="mixes units"):
        without(model, [0, 3]).export()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"units": "nowhere"}, "has no layer 'nowhere'; it has 'conv1'"),
        ({"units": "norm"}, "must be Linear or Conv1d"),
        ({"into": "act"}, "must be Linear or Conv1d"),
        ({"into": "conv1"}, "no multiple of the 6 units"),
        ({"through": ["conv2"]}, "keep units apart"),
    ],
)
def test_invalid_names_of_layers_are_refused(names, message):
    given = {"units": "conv1", "into": "conv2", "through": ["norm", "act"], **names}
    with pytest.raises(ValueError, match=message):
        SparseUnits(Convolutional(), **given, example=torch.zeros(2, 1, 8, 8))


def test_a_path_of_filters_ends_with_no_filter():
    # The class is the direction of a bar: two filters are enough.
    n = 120
    X, y = 0.1 * torch.randn(n, 1, 8, 8), torch.arange(n) % 3
    X[y == 0, :, 3], X[y == 1, :, :, 4] = 1.0, 1.0
    model = sparse()
    data = DataLoader(TensorDataset(X, y), 30, shuffle=True)
    loss = nn.CrossEntropyLoss(reduction="none")
    found = path(model, loss, data, val=data, epochs=(40, 10), path_multiplier=1.1, refit=20)
    assert found[-1].n_selected == 0
    few = select(found, n_units=3)
    assert few.val_loss < 0.2 < found[-1].val_loss
    model.load_state_dict(few.state)
    small = model.export().eval()
    torch.testing.assert_close(small(X), model.eval()(X), atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match="no unit is left"):
        model.load_state_dict(found[-1].state)
        model.export()


class Autoencoder(nn.Module):
    def __init__(self, d: int = 12, width: int = 6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, width))
        self.decoder = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def test_an_autoencoder_of_data_with_two_factors_needs_two_units():
    X = torch.randn(500, 2) @ torch.randn(2, 12) + 0.2 * torch.randn(500, 12)
    model = SparseUnits(Autoencoder(), "encoder.2", "decoder.0", example=X)
    train, val = HiddenEntries(X[:400], 50), HiddenEntries(X[400:], 100, fixed=True, random_state=1)
    found = path(model, hidden_error, train, val=val, epochs=(40, 3), path_multiplier=1.1, refit=20)
    assert select(found, "elbow").n_selected == 2
    assert abs(select(found).n_selected - 2) <= 1
    model.load_state_dict(select(found, "elbow").state)
    small = model.export()
    assert small.model.encoder[2].out_features == small.model.decoder[0].in_features == 2
    torch.testing.assert_close(small(X), model(X), atol=1e-5, rtol=0)


def test_the_loss_is_computed_on_the_hidden_entries_only():
    X = torch.randn(40, 5)
    fixed = HiddenEntries(X, 15, fixed=True)
    for (shown, hidden), (shown_next, _) in zip(fixed, fixed, strict=True):
        assert torch.equal(shown, shown_next)
        assert torch.equal(torch.where(hidden.isnan(), shown, hidden), torch.cat([shown + hidden.nan_to_num()]))
        assert float(hidden_error(shown, hidden).mean()) == pytest.approx(
            float(hidden[~hidden.isnan()].square().mean())
        )
    assert len(fixed) == 3
    random = HiddenEntries(X, 40)
    assert not torch.equal(next(iter(random))[0], next(iter(random))[0])


# Training loops of other libraries.


def test_an_attached_operator_is_applied_after_every_step_until_it_is_removed():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    attached = Attached(model, 1e4, 10.0, optimizer)
    X, y = table(50).tensors
    squared_errors(model(X), y).mean().backward()
    optimizer.step()
    assert not model.input.selected.any()
    attached.remove()
    optimizer.step()
    assert model.input.selected.any()


@pytest.mark.filterwarnings("ignore")  # Lightning's about workers, loggers and its imports
def test_the_lightning_callback_selects(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    from riata.nn.lightning import HierProx

    class Lit(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Model()

        def training_step(self, batch, index):
            return squared_errors(self.model(batch[0]), batch[1]).mean()

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), lr=5e-3)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5)]

    lit, callback = Lit(), HierProx(2.0)
    trainer = lightning.Trainer(
        max_epochs=8,
        callbacks=[callback],
        accelerator="cpu",
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        accumulate_grad_batches=2,
    )
    trainer.fit(lit, DataLoader(table(), 20, shuffle=True))
    selected = lit.model.input.selected
    assert selected[:2].all() and 2 <= int(selected.sum()) < 12
    assert trainer.callback_metrics["n_selected"] > 0
    assert not callback._attached
