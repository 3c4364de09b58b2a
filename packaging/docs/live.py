"""The first page's live example: a form below the recorded terminal, and the WebAssembly of crates/demo as a script."""

import base64
import gzip
import shutil
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = "configs/forward_bf16.txt"


def add(body: str, wasm: Path, root: Path, out: Path) -> str:
    """The first page's body with the form, whose scripts are written into the site."""
    packed = gzip.compress(wasm.read_bytes(), mtime=0)
    text = base64.b64encode(packed).decode()
    (out / "wasm.js").write_text(f'const wasm = "{text}";\n')
    shutil.copyfile(HERE / "live.js", out / "live.js")
    size = f"{len(text) / 1e6:.1f} MB"
    print(f"docs: the live example's WebAssembly has {wasm.stat().st_size / 1e6:.2f} MB, its script {size}")
    form = (HERE / "live.html").read_text().replace("{{size}}", size)
    form = form.replace("{{kernels}}", escape((root / KERNELS).read_text()))
    script = '<script src="live.js" defer></script>\n'
    return body.replace("</pre>\n", "</pre>\n" + form + script, 1)
