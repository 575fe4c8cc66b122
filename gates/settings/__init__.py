"""Settings: typed tables read from gates.toml or from [tool.gates] in pyproject.toml."""
