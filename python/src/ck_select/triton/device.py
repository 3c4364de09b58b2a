"""Which GPU is meant: from torch's properties of a device, or by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors import InvalidInputError


@dataclass(frozen=True)
class Gpu:
    """An architecture, and constants in which the GPU differs from the library's profile."""

    arch: str
    constants: tuple[tuple[str, Any], ...] = field(default=())


# GPUs without a profile of their own, by the one that comes closest. Multiply-adds of a cycle are of data sheets.
_RELATIVES: dict[str, dict[str, Any]] = {
    "sm_86": {"based_on": "sm_80", "macs_16bit": 512, "macs_int8": 1024, "lds_capacity": 99 << 10},
    "sm_87": {"based_on": "sm_80", "macs_16bit": 512, "macs_int8": 1024, "lds_capacity": 163 << 10},
    "sm_89": {"based_on": "sm_80", "macs_16bit": 512, "macs_8bit": 1024, "macs_int8": 1024, "lds_capacity": 99 << 10},
    "sm_100": {"based_on": "sm_90", "macs_16bit": 4096, "macs_8bit": 8192, "macs_int8": 8192},
    "sm_103": {"based_on": "sm_90", "macs_16bit": 4096, "macs_8bit": 8192},
    "sm_120": {"based_on": "sm_80", "macs_16bit": 512, "macs_8bit": 1024, "macs_int8": 1024, "lds_capacity": 99 << 10},
    "gfx908": {"based_on": "gfx90a"},
    "gfx1100": {"based_on": "gfx1201", "macs_16bit": 256, "macs_8bit": 0, "macs_int8": 256},
    "gfx1101": {"based_on": "gfx1201", "macs_16bit": 256, "macs_8bit": 0, "macs_int8": 256},
    "gfx1200": {"based_on": "gfx1201"},
}


def gpu(device: Any = None, arch: str | int | Gpu | None = None) -> Gpu:
    """The GPU of an architecture (``"sm_90"``, ``90``, ``"gfx942"``, ``"MI300X"``), else a device of torch's."""
    if arch is None:
        return _of_torch(device)
    return arch if isinstance(arch, Gpu) else _of_name(arch)


@lru_cache(maxsize=64)
def _of_name(arch: str | int) -> Gpu:
    word = f"sm_{arch}" if isinstance(arch, int) else arch.split(":")[0]
    # Triton and CUDA call what runs on this architecture alone sm_90a.
    if word.startswith("sm") and word.endswith(("a", "f")):
        word = word[:-1]
    return Gpu(word, tuple(_RELATIVES.get(word, {}).items()))


def _of_torch(device: Any) -> Gpu:
    if hasattr(device, "multi_processor_count"):
        return of_properties(device)
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise InvalidInputError("arch: found none, and no torch: expected one such as arch='sm_90'", 2) from None
    if not torch.cuda.is_available():
        raise InvalidInputError("arch: found none, and torch finds no GPU: expected one such as arch='sm_90'", 2)
    # A device without a number, such as "cuda", is the current one.
    number = device if isinstance(device, int) else torch.device(device or "cuda").index
    return _of_place(torch.cuda.get_device_properties, torch.cuda.current_device() if number is None else number)


@lru_cache(maxsize=64)
def _of_place(properties: Any, place: Any) -> Gpu:
    return of_properties(properties(place))


def of_properties(properties: Any) -> Gpu:
    """The GPU of what ``torch.cuda.get_device_properties`` says."""

    def number(name: str) -> float:
        value = getattr(properties, name, 0)
        return float(value) if isinstance(value, (int, float)) else 0.0

    amd = str(getattr(properties, "gcnArchName", "")).split(":")[0]
    arch = amd if amd.startswith("gfx") else f"sm_{properties.major}{properties.minor}"
    found = {
        "num_cus": int(number("multi_processor_count")),
        "max_clock_mhz": round(number("clock_rate") / 1000),
        # Of AMD's memories a cycle moves more than two words, and how many nothing says.
        "memory_gb_s": 0 if arch == amd else number("memory_clock_rate") * number("memory_bus_width") / 4e6,
    }
    known = {name: value for name, value in found.items() if value > 0}
    relative = _RELATIVES.get(arch, {"based_on": arch})
    return Gpu(arch, tuple({**relative, **known}.items()))
