"""Reason or Memorize: does initialization decide whether a transformer reasons or memorizes?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lib.core.model.init import Report, UnknownParameter, apply_gamma

__version__ = "0.1.0"
__all__ = ["Report", "UnknownParameter", "apply_gamma"]


def __getattr__(name: str) -> Any:
    """What a model of one's own needs, imported with PyTorch only once it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lib.core.model import init

    return getattr(init, name)
