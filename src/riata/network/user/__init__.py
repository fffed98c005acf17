"""Networks of the user's own: any torch module whose input goes into one linear layer and nowhere else.

The module is g in f(x) = skip(x) + g(x). Its first layer's weights become rows beside those of the skip connection; everything
above it is run as it is, with the numbers of the flat vector in place of its parameters.
"""

from riata.network.user.adopt import adopt, check_given, takes_any_width
from riata.network.user.network import UserNetwork

__all__ = ["UserNetwork", "adopt", "check_given", "takes_any_width"]
