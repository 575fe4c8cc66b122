"""Native operators: where a tree registers, fakes, probes and calls them, read from Python and C++ source."""
