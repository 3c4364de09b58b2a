"""A PyTorch that only keeps account, for what measures with it: `gpu/triton` and `gpu/prove`."""

from __future__ import annotations

from pathlib import Path

# A matrix is one number.
TORCH = """
import math, types
__version__, version = "2", types.SimpleNamespace(hip=HIP, cuda="13")
dtype, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 = object, "h", "b", "8", "5", "1"
float8_e4m3fnuz, float8_e5m2fnuz = float8_e4m3fn, float8_e5m2
manual_seed = lambda seed: None
class Tensor:
    def __init__(self, value=1.0): self.value = value
    def to(self, dtype): return self
    def float(self): return Tensor(self.value)
    def __mul__(self, by): return self
    def __matmul__(self, other): return Tensor(self.value * other.value)
    def __sub__(self, other): return Tensor(self.value - other.value)
    def numel(self): return 1
    def fill_(self, value): self.value = value
    zero_ = lambda self: self.fill_(0.0)
    T = property(lambda self: self)
randn = empty = lambda *shape, **how: Tensor()
count_nonzero = lambda tensor: int(tensor.value != 0)
linalg = types.SimpleNamespace(vector_norm=lambda tensor, *order: abs(tensor.value))
clock = 0.0
def run(ms):
    global clock
    clock += ms
class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.at = clock
    def synchronize(self): pass
    def elapsed_time(self, later): return later.at - self.at
class CUDAGraph:
    def replay(self): run(self.ms)
class graph:
    def __init__(self, graph, stream): self.graph = graph
    def __enter__(self): self.began = clock
    def __exit__(self, *error): self.graph.ms = clock - self.began; run(-self.graph.ms)
device = types.SimpleNamespace(
    name="Fake", major=9, minor=0, multi_processor_count=304, L2_cache_size=1, gcnArchName="gfx942:sramecc+")
cuda = types.SimpleNamespace(
    is_available=lambda: True, get_device_properties=lambda at: device, mem_get_info=lambda: (FREE, 100),
    Stream=object, set_stream=lambda stream: None, current_stream=lambda: None, synchronize=lambda: None,
    Event=Event, CUDAGraph=CUDAGraph, graph=graph)
"""


def install(
    folder: Path, triton: str, *, free: str = "95", hip: str | None = None, only: str = "torch.py triton"
) -> dict[str, str]:
    """Writes the modules torch and triton, or `only` one; the result is an environment in which Python finds them."""
    torch = TORCH.replace("FREE", free).replace("HIP", repr(hip))
    for name, text in {"torch.py": torch, "triton/__init__.py": triton, "triton/language.py": ""}.items():
        module = name.split("/")[0]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        # This machine may have it.
        missing = f"raise ImportError(name={module.removesuffix('.py')!r})"
        (folder / name).write_text(text if module in only else missing)
    return {"PYTHONPATH": str(folder), "TRITON_CACHE_DIR": str(folder / "cache"), "CK_TRITON_JOBS": "2"}
