"""Upstream's ``feature_engine_grouped_conv``."""

from __future__ import annotations

from ck_select.engines import GroupedConvFeatureEngine

__all__ = ["GroupedConvFeatureEngine"]
