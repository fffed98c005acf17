"""Names of other packages over the classes of this one, so that scripts written for them run."""
