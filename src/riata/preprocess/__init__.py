"""From columns to inputs of a network, learnt on training samples: categories, gaps, tails, pieces, scales, screening."""
