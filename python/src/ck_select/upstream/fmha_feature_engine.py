"""Upstream's ``fmha_feature_engine``."""

from __future__ import annotations

from ck_select.engines import FmhaFwdFeatureEngine

__all__ = ["FmhaFwdFeatureEngine"]
