"""Checks the links of a site: each has to lead to a file of it, and to an anchor in that file."""

import posixpath
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """What a page links to, and what it can be linked at."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[tuple[int, str]] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list) -> None:
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.targets += [(self.getpos()[0], values[name]) for name in ("href", "src") if values.get(name)]


@cache
def read(page: Path) -> Links:
    """The links of a page."""
    reader = Links()
    reader.feed(page.read_text())
    return reader


def links(site: Path) -> list[str]:
    """The links of our pages that lead nowhere. Those inside of rustdoc's pages are rustdoc's to check."""
    wrong = []
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site).as_posix()
        if name.startswith("api/rust/"):
            continue
        for line, link in read(page).targets:
            parts = urlsplit(link)
            if parts.scheme:
                if parts.scheme not in ("https", "mailto", "data"):
                    wrong.append(f"{name}:{line}: a link that is neither relative nor https: {link}")
                continue
            target = (
                page
                if not parts.path
                else site / posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            )
            if not target.is_file():
                wrong.append(f"{name}:{line}: the link leads to nothing: {link}")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                wrong.append(f"{name}:{line}: the page has no such place: {link}")
    return wrong
