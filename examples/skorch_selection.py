"""
Select inputs with skorch
=========================

A skorch estimator that selects its inputs: one callback, no change to the training loop. It needs ``pip install skorch``.

Data: breast cancer from scikit-learn.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier
from skorch.callbacks import Callback
from torch import nn

from riata import plot
from riata.nn import Attached, LassoInput


class Model(nn.Module):
    """A network whose first layer is sparse."""

    def __init__(self, n_inputs: int = 30):
        super().__init__()
        self.input = LassoInput(n_inputs, 16, 1)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        """Return logits."""
        skip, hidden = self.input(x)
        return (skip + self.rest(hidden)).squeeze(-1)


class Select(Callback):
    """Penalise the inputs while the network is trained."""

    def __init__(self, penalty: float, M: float = 10.0):  # in skorch names that end in _ are fitted attributes
        self.penalty, self.M = penalty, M

    def on_train_begin(self, net, **kwargs):
        """Attach to the optimizer, which skorch has just made."""
        self.attached_ = Attached(net.module_, self.penalty, self.M, net.optimizer_)

    def on_train_end(self, net, **kwargs):
        """Remove the hook, in case training continues."""
        self.attached_.remove()


# %%
# Scored by cross-validation, and trained on all samples.
torch.manual_seed(0)
data = load_breast_cancer()
X, y = data.data, data.target
net = NeuralNetBinaryClassifier(
    Model,
    max_epochs=60,
    lr=0.02,
    optimizer__momentum=0.9,
    callbacks=[Select(2.0)],
    train_split=None,
    verbose=0,
)
pipeline = make_pipeline(StandardScaler(), net)
X, y = X.astype("float32"), y.astype("float32")
accuracy = float(cross_val_score(pipeline, X, y, cv=3).mean())
pipeline.fit(X, y)
n_selected = int(net.module_.input.selected.sum())
print(f"accuracy {accuracy:.3f} in cross-validation; {n_selected} of 30 inputs selected on all samples")

# %%
# The norms of each input's weights in the linear part; those that left are zero.
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
layer = net.module_.input
norms = layer.hierarchy.skip_by_unit().norm(dim=-1).detach()
plot.importance(norms.numpy(), layer.selected.numpy(), names=data.feature_names, ax=ax)
ax.set_xlabel("norm of linear weights")
plt.show()
