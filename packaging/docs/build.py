"""Builds the documents as a site: `make docs`.

    build.py --out FOLDER [--rustdoc FOLDER] [--ckselect FILE] [--wasm FILE]

The repository's Markdown is the only source. A page has the same place in the site as in the repository, so the same
relative links work in both; the order of the pages is that of docs/README.md. Each link
has to lead somewhere.
"""

import argparse
import json
import posixpath
import re
import shutil
import sys
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import api
import live
import terminal
from render import IN_CONTENTS, Page, render, sections, wrong_links

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Folders with documents. Others have none, or none that are ours.
SOURCES = ("*.md", "docs/**/*.md", "models/**/*.md", "data/*/*.md", "python/*.md", "crates/*/*.md")
INTERFACES = "Look something up"
API_NAMES = {
    "api/ckselect.md": "Command line",
    "api/c.md": "C",
    "api/c-rows.md": "C: tables of rows",
    "api/c-bench.md": "C: kernels for `ckselect bench`",
    "api/cpp.md": "C++",
    "api/cpp-dispatcher.md": "C++: CK's dispatcher",
    "api/python.md": "Python",
    "api/rust.md": "Rust",
}


def navigation(index: str, interfaces: list[str]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Groups of (name, source, what it is about), from docs/README.md."""
    groups = [("Start", [("Overview", "README.md", ""), ("Documents", "docs/README.md", "")])]
    for group in index.split("\n### ")[1:]:
        heading, _, rest = group.partition("\n")
        entries = re.findall(r"^- \[([^]]+)\]\(([^)#]+)\)(?:: (.*))?$", rest, re.M)
        groups.append((heading, [(name, posixpath.normpath(f"docs/{path}"), about) for name, path, about in entries]))
    groups.append((INTERFACES, [(API_NAMES[path], path, "") for path in interfaces]))
    return groups


def place_of(source: str) -> str:
    """Where a source's page stands in the site."""
    source = (
        posixpath.join(posixpath.dirname(source), "index.md") if posixpath.basename(source) == "README.md" else source
    )
    return source.removesuffix(".md") + ".html" if source.endswith(".md") else source


def target_from(source: str):
    """For a source: from a link's target in it to the site's."""

    def target_of(link: str) -> str:
        parts = urlsplit(link)
        if parts.scheme or not parts.path:
            return link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(parts.path)))
        if (ROOT / path).is_dir() and (ROOT / path / "README.md").is_file():
            path = posixpath.join(path, "README.md")
        relative = posixpath.relpath(place_of(path), posixpath.dirname(place_of(source)) or ".")
        return relative + (f"#{parts.fragment}" if parts.fragment else "")

    return target_of


def copy_linked_files(source: str, page: Page, out: Path) -> None:
    """Copies files of the repository that a page links to, and that are no pages."""
    for link in page.links:
        file = (ROOT / posixpath.dirname(source) / unquote(urlsplit(link).path)).resolve()
        if file.is_relative_to(ROOT) and file.is_file() and file.suffix != ".md":
            copy = out / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def menu(groups, current: str) -> str:
    """The list of all pages."""
    out = []
    for heading, entries in groups:
        items = []
        for name, source, _ in entries:
            href = posixpath.relpath(place_of(source), posixpath.dirname(place_of(current)) or ".")
            here = ' aria-current="page"' if source == current else ""
            items.append(f'<li><a href="{escape(href)}"{here}>{escape(name.replace("`", ""))}</a></li>')
        out.append(f"<h2>{escape(heading)}</h2><ul>{''.join(items)}</ul>")
    return "".join(out)


def contents(page: Page) -> str:
    """The list of a page's parts."""
    items = [
        f'<li class="{level}"><a href="#{anchor}">{escape(text)}</a></li>'
        for level, anchor, text in page.headings
        if level in IN_CONTENTS
    ]
    return f"<h2>On this page</h2><ul>{''.join(items)}</ul>" if len(items) > 1 else ""


def write(out: Path, source: str, page: Page, groups) -> None:
    """Writes a page."""
    place = place_of(source)
    values = {
        "root": posixpath.relpath(".", posixpath.dirname(place) or "."),
        "title": escape(page.title if page.title == "ck-select" else f"{page.title} · ck-select"),
        "menu": menu(groups, source),
        "contents": contents(page),
        "body": page.body,
        "source": "" if source.startswith("api/") else f"Source: <code>{escape(source)}</code>",
    }
    text = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], (HERE / "page.html").read_text())
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    (out / place).write_text(text)


def main() -> int:
    """Builds and checks; 1 when a link leads nowhere."""
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--rustdoc", type=Path, help="the folder that `cargo doc` wrote")
    options.add_argument(
        "--ckselect", type=Path, help="the command whose help becomes a page, and which the first page shows"
    )
    options.add_argument("--wasm", type=Path, help="crates/demo as WebAssembly, for the first page's live example")
    options = options.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)

    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for pattern in SOURCES
        for path in sorted(ROOT.glob(pattern))
    }
    interfaces = api.pages(ROOT, options.rustdoc, options.ckselect)
    groups = navigation(texts["docs/README.md"], list(interfaces))
    if options.rustdoc:
        shutil.copytree(options.rustdoc, options.out / "api/rust", ignore=shutil.ignore_patterns(".lock"))

    wrong, index = [], []
    names = {source: (name, heading) for heading, entries in groups for name, source, _ in entries}
    for source, text in (texts | interfaces).items():
        page = render(text, target_from(source))
        if not page.title:
            wrong.append(f"{source}:1: the page begins with no heading")
        if source == "README.md" and options.ckselect:
            page.body, faults = terminal.first_screen(text, page.body, options.ckselect, ROOT)
            wrong += faults
            if options.wasm:
                page.body = live.add(page.body, options.wasm, ROOT, options.out)
        copy_linked_files(source, page, options.out)
        write(options.out, source, page, groups)
        titles = {anchor: words for _, anchor, words in page.headings}
        name = names.get(source, (page.title, ""))[0].replace("`", "")
        for anchor, words in sections(page):
            heading = titles.get(anchor, "")
            index.append([place_of(source), name, anchor, heading, words.removeprefix(heading).strip()])
    listed = {source for _, entries in groups for _, source, _ in entries}
    wrong += [
        f"docs/README.md: does not list {source}"
        for source in texts
        if source.startswith("docs/") and source not in listed
    ]

    (options.out / "search.js").write_text(
        f"const pages = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"
    )
    for name in ("site.css", "site.js"):
        shutil.copyfile(HERE / name, options.out / name)
    wrong += wrong_links(options.out)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"docs: {len(texts) + len(interfaces)} pages in {options.out}, {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
