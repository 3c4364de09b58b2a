"""Reads a built site in a headless browser, from the file system and without a network, as a reader would.

    try.py SITE [CKSELECT]

The search has to find what it should, no page may scroll sideways on a phone, and the live example has to show what the
command computes.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from math import isclose
from pathlib import Path
from urllib.parse import quote, urlencode

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
ROOT = Path(__file__).resolve().parent.parent.parent
SEARCHES = {
    "ck_registry_tune": "api/c.html#ck_registry_tune",
    "what had been looked at": "docs/results.html#what-had-been-looked-at",
    "Predictor": "api/python.html#predictor",
    "GroupedConvRunner": "api/cpp-dispatcher.html#groupedconvrunner",
}
PHONE = 360
# A frame of a phone's width shows one page after the other; the browser waits, since another frame is not whole before.
# The live example has answered once its output has a table or an error.
FRAMES = """<!doctype html><body><iframe id="shown" width="{width}" height="700"></iframe><iframe id="open"></iframe>
<script>
const pages = {pages}, looks = [], wait = () => new Promise((done) => setTimeout(done, 20));
document.getElementById("open").contentDocument.open();
async function look(page) {{
  const frame = document.getElementById("shown");
  await new Promise((done) => {{ frame.onload = done; frame.src = page; }});
  const whole = frame.contentDocument;
  const answer = () => whole.querySelector("#live output");
  while (page.includes("?") && !answer().querySelector("table, .wrong")) await wait();
  return [page, whole.documentElement.scrollWidth, answer()?.innerHTML ?? ""];
}}
(async () => {{
  for (const page of pages) looks.push(await look(page));
  const text = document.body.appendChild(document.createElement("pre"));
  text.textContent = JSON.stringify(looks);
  document.getElementById("open").contentDocument.close();
}})();
</script>"""
MODEL = ("--arch", "gfx950")
# The GPU of the estimate, or none for the model, with fields of the form.
EXAMPLES = [
    ("", {}),
    (
        "",
        {
            "N": "1",
            "C": "3",
            "Hi": "224",
            "Wi": "224",
            "Y": "7",
            "X": "7",
            "pad_h pad_w": "3",
            "stride_h stride_w": "2",
        },
    ),
    ("", {"N": "128", "C": "1024", "K": "2048", "Hi": "14", "Wi": "14", "Y": "1", "X": "1", "pad_h pad_w": "0"}),
    ("gfx950", {"C": "512", "K": "512", "G": "32"}),
    ("gfx942", {"N": "7", "Hi": "100", "Wi": "99"}),
    ("gfx90a", {"Hi": "56", "Wi": "56"}),
]
FIGURE = r'<td data-{}="(.*?)">.*?</td>'
ROW = re.compile("".join(map(FIGURE.format, ("score", "time", "slower", "loss"))) + "<td>(.*?)</td>")
KEYS = ("time_us", "slower", "loss")
# As many as SHOWN of live.js.
LINES = 8


class Reader:
    """A browser with a profile of its own."""

    def __init__(self, browser: str, site: Path, profile: str):
        self.command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        self.site, self.profile = site, Path(profile)

    def read(self, *options: str) -> str:
        """A page's elements after its scripts ran."""
        command = [*self.command, "--dump-dom", *options]
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300, check=False
        ).stdout

    def search(self, words: str, page: str) -> list[str]:
        """What is wrong with a search."""
        shown = self.read("--virtual-time-budget=5000", f"file://{self.site}/docs/performance.html?q={quote(words)}")
        is_there = f'<a href="../{page}" role="option">' in shown
        return [] if is_there else [f'a search for "{words}" does not find {page}']

    def on_phone(self, addresses: list[str]) -> list[tuple[str, int, str]]:
        """Addresses of the site with the width that a phone shows and with the live example's answer."""
        frames = self.profile / "phone.html"
        pages = json.dumps([f"file://{self.site}/{address}" for address in addresses])
        frames.write_text(FRAMES.format(width=PHONE, pages=pages))
        text = re.search(r"<pre>(.*)</pre>", self.read("--allow-file-access-from-files", f"file://{frames}"))
        return [(address, *look[1:]) for address, look in zip(addresses, json.loads(unescape(text[1])))]

    def pages(self) -> list[str]:
        """All pages but those of rustdoc."""
        pages = (str(page.relative_to(self.site)) for page in sorted(self.site.glob("**/*.html")))
        return [page for page in pages if not page.startswith("api/rust/")]


def command_ranks(ckselect: str, gpu: str, problem: str) -> list[dict]:
    """What the command answers to a question of the form."""
    model = ("--model", "estimate", "--arch", gpu) if gpu else MODEL
    command = [ckselect, "rank", *model, "--pool", "configs/forward_bf16.txt", "--problem", problem, "--format", "json"]
    ranked = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(ranked.stdout)


def is_row(row: tuple, expected: dict) -> bool:
    """Whether the form shows a row of the command: kernel and score to the bit. The other figures differ in a few last
    bits, as WebAssembly has another exponential function than the C library.
    """
    score, *figures, kernel = row
    pairs = [(figure, expected[key]) for figure, key in zip(figures, KEYS)]
    is_near = all(
        not figure if value is None else isclose(float(figure), value, rel_tol=1e-14) for figure, value in pairs
    )
    return is_near and kernel == expected["kernel"] and float(score) == expected.get("score", float(score))


def live_faults(answer: str, gpu: str, ckselect: str) -> list[str]:
    """What the live example shows otherwise than the command."""
    problem = re.search(r"--problem '(.*?)'", answer)
    if not problem:
        return [f"the live example answers {answer}"]
    shown, ranked = ROW.findall(answer), command_ranks(ckselect, gpu, problem[1])
    is_same = len(shown) == min(len(ranked), LINES) and all(map(is_row, shown, ranked))
    return [] if is_same else [f"for {gpu} {problem[1]}, the live example shows {shown}, ckselect {ranked[:LINES]}"]


def main() -> int:
    """1 if something is wrong."""
    site, *ckselect = sys.argv[1:]
    browser = next((name for name in BROWSERS if shutil.which(name)), None)
    if not browser:
        print(
            "docs: the site was not tried, no headless Chromium: apt-get install chromium-headless-shell, "
            "or dnf install chromium-headless",
            file=sys.stderr,
        )
        return 0
    with tempfile.TemporaryDirectory() as profile:
        reader = Reader(browser, Path(site).resolve(), profile)
        wrong = [fault for words, page in SEARCHES.items() for fault in reader.search(words, page)]
        pages = reader.pages()
        if ckselect and (reader.site / "live.js").exists():
            pages += [f"index.html?{urlencode({'gpu': gpu, **fields})}" for gpu, fields in EXAMPLES]
        looks = reader.on_phone(pages)
    wrong += [f"on a phone, {page} is {width} wide" for page, width, _ in looks if width > PHONE]
    for (_, _, answer), (gpu, _) in zip((look for look in looks if "?" in look[0]), EXAMPLES):
        wrong += live_faults(answer, gpu, ckselect[0])
    for line in wrong:
        print(f"docs: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
