"""The part of upstream's ``data_pipeline`` that predictors need. The rest is ``ckselect convert``."""

from __future__ import annotations

from ck_select.dispatcher import parse_kernel_name

__all__ = ["parse_kernel_name"]
