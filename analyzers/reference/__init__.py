"""The reference analyser: what a tree declares, on one generated page."""
