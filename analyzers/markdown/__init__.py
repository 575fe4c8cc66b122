"""What one Markdown file says on its own: its anchors and its links."""
