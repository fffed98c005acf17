"""Numbers that every form of the update shares.

Compiled code for the CPU is kept on disk and knows them as they were: after a change here, touch ``cpu.py`` too.
"""

MOMENTUM = 0.9  # share of the last move that is made again
MEMORY = 0.999  # share of the old average in the averaged squared gradient that sets the relative step sizes
GROW, SHRINK, TAKE_BACK = 1.05, 0.5, 0.3  # factors on the size of the steps: objective fell, rose, rose by a tenth
TOO_HIGH = 0.1  # rise of the objective, relative to it, after which a step is taken back
TINY = 1e-5  # keeps step sizes in bounds where the gradient has all but vanished
ROUNDING = 4  # rises of so many units of rounding are none
VANISHED = (
    1e-25  # weights above the first layer smaller than this are zero: on a CPU, denormal numbers are many times slower
)
