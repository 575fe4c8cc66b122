"""Renderers: one verdict for a terminal, a machine or a reviewer."""
