"""The paper's tables and figures, and ours beside them."""
