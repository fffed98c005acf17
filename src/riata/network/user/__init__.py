"""User-supplied networks: any torch module whose input goes into one linear layer and nowhere else.

The module is g in f(x) = skip(x) + g(x). The weights of its first layer are stored beside those of the skip connection;
everything above it runs as it is, with the entries of the flat vector as its parameters.
"""

from riata.network.user.build import build, check_given, takes_any_width
from riata.network.user.network import UserNetwork

__all__ = ["UserNetwork", "build", "check_given", "takes_any_width"]
