"""Where sources come from: the working tree, the git index, or any revision."""
