"""The networks: many side by side, a user-supplied module in the same layout, and a fitted one as a torch module."""
