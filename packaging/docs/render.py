"""Markdown as the hosts of code repositories render it, with the same anchors and code in colours; what pages hold."""

import html
import posixpath
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

FORMATTER = HtmlFormatter(nowrap=True)
# Of headings that lead to a page's parts; deeper ones only have anchors.
IN_CONTENTS = ("h2", "h3")


@dataclass
class Page:
    """A rendered page."""

    title: str = ""
    body: str = ""
    # (level, anchor, text) of its headings.
    headings: list[tuple[str, str, str]] = field(default_factory=list)
    # The targets of its links and pictures.
    links: list[str] = field(default_factory=list)


def in_colours(code: str, language: str, _attributes: str) -> str:
    """Code with its words in spans; as it is in languages that are not known."""
    try:
        return highlight(code, get_lexer_by_name(language), FORMATTER)
    except ClassNotFound:
        return html.escape(code)


MARKDOWN = MarkdownIt("gfm-like", {"html": True, "linkify": False, "highlight": in_colours})


def anchor_of(text: str, taken: dict[str, int]) -> str:
    """A heading's anchor, by the rule of code hosts."""
    anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    count = taken.get(anchor, 0)
    taken[anchor] = count + 1
    return f"{anchor}-{count}" if count else anchor


def text_of(inline) -> str:
    """What a reader sees of a line, without its marks."""
    return "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))


def render(text: str, target_of) -> Page:
    """Renders a page; `target_of` tells the site's address of a link's target."""
    page, taken = Page(), {}
    tokens = MARKDOWN.parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            words = text_of(tokens[at + 1])
            anchor = anchor_of(words, taken)
            token.attrSet("id", anchor)
            page.headings.append((token.tag, anchor, words))
            if token.tag == "h1" and not page.title:
                page.title = words
        for child in token.children or []:
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name:
                page.links.append(child.attrGet(name))
                child.attrSet(name, target_of(child.attrGet(name)))
    body = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    # Wide tables scroll by themselves, by keyboard, too.
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
    page.body = re.sub(
        r'<(h[2-6]) id="([^"]+)">(.*?)</\1>',
        r'<\1 id="\2">\3 <a class="here" href="#\2" aria-label="Link here">#</a></\1>',
        body,
    )
    return page


class Reader(HTMLParser):
    """What a page links to, what it can be linked at, and its words by the heading that they stand under."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[tuple[int, str]] = []
        self.anchors: set[str] = set()
        self.parts: list[tuple[str, list[str]]] = [("", [])]
        self.skipping = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        """Notes targets and anchors, and begins a part at a heading."""
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.targets += [(self.getpos()[0], values[name]) for name in ("href", "src") if values.get(name)]
        if re.fullmatch(r"h[1-6]", tag):
            self.parts.append((values.get("id", ""), []))
        self.skipping = values.get("class") == "here"

    def handle_endtag(self, tag: str) -> None:
        """Ends what is skipped."""
        self.skipping = False

    def handle_data(self, data: str) -> None:
        """Adds the text to its part."""
        if not self.skipping:
            self.parts[-1][1].append(data)


def sections(page: Page) -> list[tuple[str, str]]:
    """(anchor, words) of a page's sections, for the search."""
    return [(anchor, " ".join("".join(words).split())) for anchor, words in Reader(page.body).parts if words]


@cache
def read(page: Path) -> Reader:
    """A page of a site."""
    return Reader(page.read_text())


def wrong_links(site: Path) -> list[str]:
    """The links of our pages that lead to no file or anchor. Those inside of rustdoc's pages are rustdoc's to check."""
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
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
            target = site / path if parts.path else page
            if not target.is_file():
                wrong.append(f"{name}:{line}: the link leads to nothing: {link}")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                wrong.append(f"{name}:{line}: the page has no such place: {link}")
    return wrong
