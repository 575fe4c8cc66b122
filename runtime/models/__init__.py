"""Model families as adapters that register themselves, and their loaders."""
