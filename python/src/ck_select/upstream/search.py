"""Upstream's ``search``."""

from __future__ import annotations

from ck_select.search import SurrogateSearch

__all__ = ["SurrogateSearch"]
