"""Reason or Memorize: how initialization decides whether a transformer reasons or memorizes."""

__version__ = "0.1.0"
