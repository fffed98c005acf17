"""
Select the inputs of your own torch model
=========================================

The same torch loop without and with riata: three lines, marked (1) to (3), add the selection of inputs. Data: diabetes from
scikit-learn, ten columns and ten of noise.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_diabetes
from torch import nn

from riata import plot
from riata.nn import LassoInput, hier_prox_

torch.manual_seed(0)
data = load_diabetes(as_frame=True)
X = torch.tensor(data.data.to_numpy() / data.data.to_numpy().std(), dtype=torch.float32)
X = torch.cat([X, torch.randn(len(X), 10)], 1)
y = torch.tensor((data.target.to_numpy() - data.target.mean()) / data.target.std(), dtype=torch.float32)[:, None]
names = [*data.feature_names, *(f"noise{i}" for i in range(10))]


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.input = nn.Linear(20, 32)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.rest(self.input(x))


class Sparse(Plain):
    def __init__(self):
        super().__init__()
        self.input = LassoInput(20, 32, 1)  # (1) instead of a linear layer

    def forward(self, x):
        skip, hidden = self.input(x)
        return skip + self.rest(hidden)  # (2) add the skip connection to the output


def train(model, lambda_=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for _ in range(400):
        optimizer.zero_grad()
        loss = (model(X) - y).square().mean() + 1e-3 * model.rest[1].weight.square().sum()
        loss.backward()
        optimizer.step()
        if lambda_ is not None:
            hier_prox_(model, lambda_, 10.0, optimizer)  # (3) after every step
    return (model(X) - y).square().mean().item()


# %%
# Without, all inputs are used; with the penalty, the input layer keeps those that help.
plain_error = train(Plain())
print(f"plain: training error {plain_error:.3f} with all 20 inputs")
model = Sparse()
error = train(model, lambda_=10.0)
selected = [name for name, used in zip(names, model.input.selected.tolist(), strict=True) if used]
print(f"sparse: training error {error:.3f} with {len(selected)} inputs: {', '.join(selected)}")

# %%
# The norms of each input's weights in the linear part; those that left are zero.
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
norms = model.input.hierarchy.skip_by_unit().norm(dim=-1).detach()
plot.importance(norms.numpy(), model.input.selected.numpy(), names=names, ax=ax)
ax.set_xlabel("norm of linear weights")
plt.show()
