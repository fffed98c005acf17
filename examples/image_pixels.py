"""
Pixels of images
================

Which pixels are needed to read a digit? Features that are pixels can be shown as an image.

The data ship with scikit-learn: 1,797 digits of 8 × 8 pixels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from riata import LassoNetClassifier, Training, plot

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# Pixels have a common scale, so ``preprocessing="standard"`` is enough, and pairs of pixels need no tests.
training = Training(path_multiplier=1.1)
model = LassoNetClassifier((32,), preprocessing="standard", screening=None, training=training, random_state=0).fit(X, y)
print(f"{model.n_selected_} of 64 pixels, accuracy {model.score(X_new, y_new):.3f}")

# %%
# Fewer and fewer pixels
# ----------------------
# The same fit at other points of its path.
counts, n_used = (40, 20, 10, 5), []
fig, axes = plt.subplots(1, len(counts) + 1, figsize=(11, 2.6), layout="constrained")
plot.pixels(X[0], (8, 8), ax=axes[0])
axes[0].set_title("a digit")
for ax, k in zip(axes[1:], counts, strict=True):
    few = model.at(n_features=k)
    plot.pixels(few.selected_, (8, 8), ax=ax)
    n_used.append(few.n_selected_)
    ax.set_title(f"{few.n_selected_} pixels: {few.score(X_new, y_new):.2f}")
plt.show()

# %%
# Importance
# ----------
# The λ at which each pixel leaves the model.
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
plot.pixels(model.feature_importances_, (8, 8), label="importance", ax=ax)
plt.show()
