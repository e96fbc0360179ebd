"""Long-term memory and searchable session history for AI agents."""

__version__ = "0.1.0"
