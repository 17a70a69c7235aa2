"""The built-in strategies, one module each; they come in through the entry points in pyproject.toml."""
