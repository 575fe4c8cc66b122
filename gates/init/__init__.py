"""Starting settings for a tree that has none: look at its files as bytes, guess, and explain every guess."""

from gates.init.detection import Detected, detect
from gates.init.starting import starting_settings

__all__ = ["Detected", "detect", "starting_settings"]
