"""R copies of a user-supplied module in the layout of the solver, with gradients by autograd."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property

import torch
from torch import Tensor, nn

from riata.network.sparse import Table, forward
from riata.network.stacked import AnyPass, Weights, linear, uniform
from riata.network.user.modules import GivenProduct, replace_module, seeded

__all__ = ["UserNetwork", "UserPass"]


class UserNetwork:
    """A module without its first layer, and the weights to start from; see :class:`riata.network.stacked.Architecture`.

    The flat vector holds the trained parameters in the order of the module, with the first layer's bias. Frozen parameters and
    buffers stay in the module.

    Parameters
    ----------
    module : Module
        Keeps the contract. It is changed: give a copy.
    layer : Linear
        Its first layer.
    n_outputs : int
        Width o of the output.
    is_random : bool
        Whether the module draws random numbers in training mode.
    """

    recordable = False
    n_hidden = None

    def __init__(self, module: nn.Module, layer: nn.Linear, n_outputs: int, *, is_random: bool):
        self.n_outputs = n_outputs
        self.is_random = is_random
        self.n_inputs = layer.in_features
        self.width = n_outputs + layer.out_features
        self._first = layer.weight.detach().clone()  # (K, d)
        self._given = GivenProduct(layer)
        self._above = replace_module(module, layer, self._given).eval()

    @cached_property
    def _shapes(self) -> dict[str, torch.Size]:
        """Shapes of the parameters in the flat vector, by name."""
        return {name: p.shape for name, p in self._above.named_parameters() if p.requires_grad}

    @cached_property
    def n_upper(self) -> int:
        """Number of trained parameters above the first layer's weights."""
        return sum(shape.numel() for shape in self._shapes.values())

    def init(self, n_features: int, seeds: Sequence[int], dtype: torch.dtype, device: torch.device) -> Weights:
        """Start from the module's weights; skip weights are drawn as for the built-in network."""
        parameters = dict(self._above.named_parameters())
        upper = torch.cat(
            [torch.empty(0), *(parameters[name].detach().cpu().double().flatten() for name in self._shapes)]
        )
        first = self._first.cpu().double().mT
        rows = []
        for seed in seeds:
            drawn = uniform((n_features, self.width), n_features, torch.Generator().manual_seed(seed))
            rows.append(torch.cat([drawn[:, : self.n_outputs], first], -1))
        return Weights(torch.stack(rows).to(device, dtype), torch.stack([upper] * len(rows)).to(device, dtype))

    def layers(self, weights: Weights) -> Weights:
        """Return the weights as they are: a pass copies them into a new graph each time."""
        return weights

    def is_matrix(self, like: Tensor) -> Tensor:
        """Return 1 for the entries of parameters with two dimensions or more, 0 for others."""
        marks = [like.new_full((shape.numel(),), len(shape) >= 2) for shape in self._shapes.values()]
        return torch.cat([like.new_empty(0), *marks])

    def passes(self, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True) -> UserPass:
        """Make the buffers of a pass over so many samples."""
        return UserPass(self, n_replicas, n_samples, like, learns=learns)

    def module(self, first: Tensor, upper: Tensor) -> nn.Module:
        """Return the user's module with these weights: (d, K) of the first layer, and those above it."""
        above, given = copy.deepcopy((self._above, self._given))
        above.to(upper.dtype)
        with torch.no_grad():
            for name, values in self.named(upper).items():
                above.get_parameter(name).copy_(values)
        return replace_module(above, given, linear(first, given.bias)).eval()

    def named(self, upper: Tensor) -> dict[str, Tensor]:
        """Return views of one replica's flat vector, parameter by parameter."""
        pieces = upper.split([shape.numel() for shape in self._shapes.values()])
        return {name: piece.view(shape) for piece, (name, shape) in zip(pieces, self._shapes.items(), strict=True)}

    def above(self, like: Tensor) -> tuple[nn.Module, GivenProduct]:
        """Return copies of the module and of what replaces its first layer, in the dtype and on the device of a tensor."""
        with torch.inference_mode(False):  # autograd has no use for what is made in that mode
            above, given = copy.deepcopy((self._above, self._given))
            return above.to(like.device, like.dtype), given


class UserPass(AnyPass):
    """A pass through the user's module by autograd, replica by replica.

    Every pass has its own copy of the module, as several may run at the same time.
    """

    def __init__(self, network: UserNetwork, n_replicas: int, n_samples: int, like: Tensor, *, learns: bool = True):
        super().__init__(network, n_replicas, n_samples, like, learns=learns)
        self._network = network
        self._learns = learns
        self._graphs: list[tuple[Tensor, Tensor, Tensor]] = []  # output, product and flat vector of each replica

    @cached_property
    def _copy(self) -> tuple[nn.Module, GivenProduct]:
        return self._network.above(self.output)

    def forward(self, layers: Weights, X: Table, dropout: float = 0.0, draw: torch.Generator | None = None) -> Tensor:
        """Run all replicas on the same samples; see the base class. Dropout is up to the module."""
        self._graphs = []
        forward(X, layers.rows, self._product)
        drawn = draw if self._network.is_random else None
        with nullcontext() if drawn is None else seeded(_seed(drawn), X.device):
            for product, upper in zip(self._first, layers.upper, strict=True):
                self._graphs.append(self._run(product, upper, training=drawn is not None))
        for output, skip, (above, _, _) in zip(self.output, self._skip, self._graphs, strict=True):
            torch.add(skip, above.detach(), out=output)
        return self.output

    def backward_upper(self, layers: Weights, gradient: Weights) -> None:
        """Write the gradient by everything above the features' weights; see the base class."""
        for r, (output, *leaves) in enumerate(self._graphs):
            with torch.inference_mode(False):
                output_gradient = self.output_gradient[r].clone()
                # The graph is kept: after a check of the inactive features the same pass may go backward once more.
                found = torch.autograd.grad(output, leaves, output_gradient, retain_graph=True, allow_unused=True)
            for buffer, values in zip((self._first_gradient[r], gradient.upper[r]), found, strict=True):
                buffer.zero_() if values is None else buffer.copy_(values)

    def _run(self, product: Tensor, upper: Tensor, *, training: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Run one replica, with a graph if there is a backward pass. The graph is made of copies of the solver's buffers."""
        with torch.inference_mode(False), torch.set_grad_enabled(self._learns):
            product, upper = (values.detach().clone().requires_grad_(self._learns) for values in (product, upper))
            return self._above(product, upper, training), product, upper

    def _above(self, product: Tensor, upper: Tensor, training: bool) -> Tensor:
        """Go from the product of X and the first layer's weights, (n, K), to the output, (n, o)."""
        module, given = self._copy
        if module.training != training:
            module.train(training)
        given.product = product
        # The module may use the shape of its input, not its values.
        x = product.new_zeros(1, 1).expand(len(product), self._network.n_inputs)
        output: Tensor = torch.func.functional_call(module, self._network.named(upper), (x,))
        given.product = None
        return output.to(product.dtype)


def _seed(draw: torch.Generator) -> int:
    return int(torch.randint(2**62, (1,), generator=draw, device=draw.device))
