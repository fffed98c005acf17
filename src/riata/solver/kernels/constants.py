"""Numbers that every form of the update shares.

Numba keeps compiled code on disk with their values inlined: after a change here, touch ``cpu.py`` too.
"""

MOMENTUM = 0.9  # share of the last step that is added to the next
MEMORY = 0.999  # decay of the averaged squared gradient that scales the steps, Adam's β₂
TINY = 1e-5  # added to its root, Adam's ε: bounds the steps where the gradient has all but vanished
# Factors on the size of the steps: where the objective fell; where it rose; where it rose so much that the step is reverted.
GROW, SHRINK, SHRINK_REVERTED = 1.05, 0.5, 0.3
MAX_RISE = 0.1  # relative rise of the objective after which a step is reverted
ROUNDING = 4  # a relative rise of so many machine epsilons counts as none
