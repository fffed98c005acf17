"""The networks: many side by side, a module of the user's in the same layout, and a fitted one as a torch module."""
