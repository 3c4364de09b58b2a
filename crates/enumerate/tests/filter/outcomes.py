"""Evaluates expressions, one a line of standard input, as Python does; the outcomes go to standard output.

Made with it: tests/filter/outcomes.txt
    python3 outcomes.py < expressions.txt > outcomes.txt
"""

import math
import struct
import sys
import warnings
from types import SimpleNamespace

warnings.simplefilter("ignore")

C = SimpleNamespace(
    tile_m=64,
    tile_n=128,
    tile_k=32,
    pipeline="compv3",
    name="grouped_conv_forward_bf16_2d_64x128x32_compv3_intrawave_gm2_dsb",
    double_smem_buffer=True,
    split_image=False,
    arch=None,
)
NAMES = {"c": C, "__builtins__": {"abs": abs, "len": len, "max": max, "min": min}}


def shown(value):
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "b:1" if value else "b:0"
    if isinstance(value, int):
        return f"i:{value}"
    if isinstance(value, float):
        return "f:nan" if math.isnan(value) else "f:" + struct.pack(">d", value).hex()
    if isinstance(value, str):
        return "s:" + value.replace("\n", "\\n")
    if isinstance(value, list):
        return "[" + ";".join(map(shown, value)) + "]"
    return "(" + ";".join(map(shown, value)) + ")"


for line in sys.stdin:
    try:
        print(shown(eval(line.rstrip("\n").strip(), NAMES)))
    except Exception as error:
        print(type(error).__name__)
