"""What a device can do, which one is used, and what its machine lacks. Importing it does not import torch."""

from runtime.platforms.protocol import DeclaredPlatform, Platform, Support, declared
from runtime.platforms.selection import current

__all__ = ["DeclaredPlatform", "Platform", "Support", "current", "declared"]
