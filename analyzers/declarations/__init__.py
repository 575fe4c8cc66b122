"""Tables that a tree declares as data, read from their source without running it."""
