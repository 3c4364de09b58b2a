"""The pages of the programming interfaces, as Markdown.

C and C++ come from their headers, Python from its docstrings, the command line from its help; Rust is an index of what
rustdoc wrote.
"""

import ast
import html
import os
import re
import subprocess
from pathlib import Path

C_PAGES = {"c": "ck_select.h", "c-rows": "ck_select_rows.h", "c-bench": "ck_select_bench.h"}
CPP_PAGES = {"cpp": "ck_select", "cpp-dispatcher": "ck_select_dispatcher"}
RUST_CRATES = ("ck_select", "ck_select_types", "ck_select_model", "ck_select_enumerate")


def pages(root: Path, rustdoc: Path | None, ckselect: Path | None) -> dict[str, str]:
    """Each page of the interfaces by its path in the site."""
    include = root / "include"
    links: dict[str, str] = {}
    out = {}
    for page, header in C_PAGES.items():
        out[f"api/{page}.md"] = c_page(include / header, page, links)
    exported = [line for line in (include / "exports.txt").read_text().split("\n") if line and not line.startswith("#")]
    if missing := [name for name in exported if name not in links]:
        raise ValueError(f"include/exports.txt: no page has {', '.join(missing)}")
    for page, folder in CPP_PAGES.items():
        out[f"api/{page}.md"] = cpp_page(include, folder)
    out["api/python.md"] = python_page(root / "python/src/ck_select")
    if rustdoc:
        out["api/rust.md"] = rust_page(rustdoc)
    out = {path: linked(text, links, path) for path, text in out.items()}
    return ({"api/ckselect.md": command_page(ckselect)} if ckselect else {}) | out


def linked(text: str, links: dict[str, str], page: str) -> str:
    """Names of the C interface in running text become links, except in the page's headings and code blocks."""
    names = "|".join(sorted(links, key=len, reverse=True))

    def link(found: re.Match) -> str:
        target = links[found[2]]
        return f"[`{found[2]}`]({target.removeprefix(Path(page).name)})"

    lines, is_code = [], False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        if not is_code and not line.startswith(("#", "    ")):
            line = re.sub(rf"(?<![\w`/.\[])(`?)\b({names})\b(?:\(\))?\1(?![\w`*]|\.h)", link, line)
        lines.append(line)
    return "\n".join(lines) + "\n"


# What is a name wherever a header's own words mention it.
NAMES = re.compile(r"(?<![\w`])(?:CK_[A-Z0-9_]+|ck_\*\w*|ck_select::\w+(?:\(\))?|<[\w/]+\.hpp>)(?!`)")


# C and C++: a header's own text, a block of code for each declaration with its comment


def c_page(header: Path, page: str, links: dict[str, str]) -> str:
    """One C header."""
    source = header.read_text()
    opening, conventions = opening_of(source)
    out = [f"# C: {header.name}", opening]
    if conventions:
        out.append(f"## Conventions\n\n{prose(listed(conventions))}")
    for block in blocks(source[source.index("\n#include") :]):
        if group := re.fullmatch(r"/\* (.*?) -+ \*/", block):
            out.append(f"## {group[1]}")
        code = re.sub(r"(?:/\*.*?\*/|//[^\n]*)", "", block, flags=re.S)
        names = DECLARED.findall(code)
        names = list(dict.fromkeys(next(filter(None, found)) for found in names))
        if names:
            links |= {name: f"{page}.md#{name.lower()}" for name in names}
            others = "".join(f'<a id="{name.lower()}"></a>' for name in names[1:])
            out.append(f"### `{names[0]}`\n\n{others}\n\n```c\n{block}\n```")
    return "\n\n".join(out) + "\n"


# The names of a constant, a struct or an enumeration, another type, and a function.
DECLARED = re.compile(r"^#define (\w+) +\S|^} (\w+);|^typedef .*?(\w+)(?:\)\(.*?\))?;$|(\bck_\w+)\(", re.M | re.S)


def blocks(source: str) -> list[str]:
    """Parts of a header between blank lines that are not inside of braces."""
    out, depth = [""], 0
    for line in source.splitlines():
        code = re.sub(r"//.*|/\*.*?\*/|^ ?\*.*|\"(?:\\.|[^\"])*\"|'.'", "", line)
        # What a namespace or extern "C" contains is not inside of anything.
        if re.match(r"(?:inline )?namespace .*{$|extern .*{$|}  // (?:inline )?namespace", line):
            code = ""
        depth = max(0, depth + code.count("{") - code.count("}"))
        if line.strip() or depth:
            out[-1] += f"{line}\n"
        elif out[-1]:
            out.append("")
    return [block.rstrip() for block in out if block.strip()]


def opening_of(source: str) -> tuple[str, str]:
    """What a header says about itself, and the part of it under "Conventions"."""
    comment = re.search(r"/\*.*?\*/", source, re.S)[0]
    text = re.sub(r"^[ \t]*\* ?", "", re.sub(r"^/\*+|\*+/$", "", comment), flags=re.M).strip()
    text = re.sub(r"Generated .*?\n\n", "", text, flags=re.S)
    opening, _, conventions = text.partition("Conventions\n")
    return prose(opening), conventions


def listed(text: str) -> str:
    """`  Word   text` with what hangs under it, as a list."""
    return re.sub(r"^ {0,2}(\w+)  +", r"- **\1.** ", re.sub(r"^ {3,}", "  ", text, flags=re.M), flags=re.M)


def wrapped(code: str, limit: int = 96) -> str:
    """A function's first line, with an argument on each line if it is too long for a page."""
    head, bracket, rest = code.partition("(")
    return code if len(code) <= limit else f"{head}{bracket}\n    " + rest.replace(", ", ",\n    ")


def prose(text: str) -> str:
    """A header's comment as Markdown: names are code, indented parts are code or lists."""
    text = re.sub(r"^ +- ", "- ", text, flags=re.M)
    lines = (line if line.startswith("    ") else NAMES.sub(r"`\g<0>`", line) for line in text.splitlines())
    return "\n".join(lines)


# A namespace that is nobody's to use.
INNER = re.compile(r"^namespace ([\w:]*\b(?:detail|ck_select_access)\b[\w:]*) {$.*?^}  // namespace \1$", re.M | re.S)


def cpp_page(include: Path, folder: str) -> str:
    """A header for all and the headers of its folder."""
    umbrella = include / f"{folder}.hpp"
    out = [f"# C++: {umbrella.name}", opening_of(umbrella.read_text())[0]]
    for path in sorted((include / folder).glob("*.hpp")):
        source = path.read_text()
        public = INNER.sub("", source)
        starts = re.compile(r"///|template|class|struct|enum|using")
        shown = [declared(block) for block in blocks(public) if starts.match(block)]
        if shown:
            out += [f"## {path.name}", opening_of(source)[0], f'`#include "{folder}/{path.name}"`']
        for block in shown:
            if name := re.search(r"^(?:class|struct|enum class) (\w+)[^;]*$", block, re.M):
                out.append(f"### `{name[1]}`")
            out.append(f"```cpp\n{block}\n```")
    return "\n\n".join(out) + "\n"


# What a constructor begins its members with, behind its arguments.
INITIALISERS = re.compile(r"(\)(?: noexcept)?)\s+: (?:[\w:]+(?:\((?:[^();]|\([^()]*\))*\)|\{[^;]*?\}),?\s*)+(?=\{)")


def declared(block: str) -> str:
    """A declaration without bodies of functions, initialisers and private members."""
    block = re.sub(r"^ (?:private|protected):.*?(?=^ public:|^};)", "", block, flags=re.M | re.S)
    block = INITIALISERS.sub(r"\1 ", block)
    out, statement, depth, skipped = "", "", 0, 0
    for part in re.split(r'(//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[{};])', block, flags=re.S):
        depth += (part == "{") - (part == "}")
        is_whole = statement.count("(") == statement.count(")")
        if part == "{" and not skipped and is_whole and ")" in statement:
            out, skipped = out.rstrip() + ";", depth
        out += "" if skipped else part
        if part == "}" and depth < skipped:
            skipped = 0
        statement = "" if part and part in "{};" and is_whole else statement + part * (part[:2] not in ("//", "/*"))
    return re.sub(r"\n{2,}(?=};)", "\n", out)


# Python


def python_page(package: Path) -> str:
    """What `ck_select` exports, by the module that defines it."""
    top = ast.parse((package / "__init__.py").read_text())
    exported = next(
        ast.literal_eval(node.value)
        for node in top.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    out = ["# Python: ck_select", docstring(top)]
    for node in top.body:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        module = ast.parse((package / f"{node.module}.py").read_text())
        names = [alias.name for alias in node.names if alias.name in exported]
        # A module with a single name needs no heading of its own.
        level = "##" if len(names) == 1 else "###"
        if len(names) > 1:
            out.append(f"## {node.module.strip('_').capitalize()}")
        for statement in module.body:
            name = getattr(statement, "name", None) or next((target.id for target in targets(statement)), None)
            if name in names:
                out.append(f"{level} `{name}`\n\n{python_item(statement)}")
                names.remove(name)
        if names:
            raise ValueError(f"{package}/{node.module}.py does not define {', '.join(names)}")
    return "\n\n".join(out) + "\n"


def targets(statement: ast.stmt) -> list[ast.Name]:
    """The names that an assignment gives values to."""
    found = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target for target in found if isinstance(target, ast.Name)]


def docstring(node: ast.AST) -> str:
    """A docstring as Markdown."""
    text = ast.get_docstring(node) or ""
    text = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def python_item(node: ast.stmt) -> str:
    """A function, or a class with its public methods."""
    if isinstance(node, ast.FunctionDef):
        return f"```python\n{signature(node)}\n```\n\n{docstring(node)}"
    if not isinstance(node, ast.ClassDef):
        first = ast.unparse(node).splitlines()[0]
        return f"```python\n{first if len(first) <= 96 else f'{first[:95]}…'}\n```"
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [
        ast.unparse(field)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and not field.target.id.startswith("_")
    ]
    methods = [method for method in node.body if isinstance(method, ast.FunctionDef)]
    made = [
        signature(method).replace("def __init__(self, ", f"{node.name}(")
        for method in methods
        if method.name == "__init__"
    ]
    head = "\n".join(
        [f"class {node.name}{f'({bases})' if bases else ''}", *(f"    {field}" for field in fields), *made]
    )
    out = [f"```python\n{head}\n```", docstring(node)]
    for method in methods:
        is_property = any("property" in ast.unparse(decorator) for decorator in method.decorator_list)
        if not method.name.startswith("_") and "setter" not in "".join(map(ast.unparse, method.decorator_list)):
            code = signature(method) if not is_property else f"{method.name}: {ast.unparse(method.returns)}"
            out.append(f"```python\n{code}\n```\n\n{docstring(method)}")
    return "\n\n".join(out)


def signature(node: ast.FunctionDef) -> str:
    """A function's first line."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return wrapped(f"def {node.name}({ast.unparse(node.args)}){returns}")


# Rust


def rust_page(rustdoc: Path) -> str:
    """All items of the public crates, each a link into rustdoc's pages."""
    out = [
        "# Rust",
        "The crates are documented by rustdoc, whose pages have a search of their own. Everything in them, by crate:",
    ]
    for crate in RUST_CRATES:
        index = (rustdoc / crate / "index.html").read_text()
        about = html.unescape(re.search(r'<meta name="description" content="([^"]*)"', index)[1])
        out.append(f"## {crate}\n\n[Documentation of `{crate}`](rust/{crate}/index.html). {about}")
        listing = (rustdoc / crate / "all.html").read_text()
        for kind, body in re.findall(r'<h3 id="(\w+)">.*?</h3><ul class="all-items">(.*?)</ul>', listing, re.S):
            links = re.findall(r'<a href="([^"]+)">([^<]+)</a>', body)
            out.append(
                f"### {kind.capitalize()} of {crate}\n\n"
                + ", ".join(f"[`{name}`](rust/{crate}/{href})" for href, name in links)
            )
    return "\n\n".join(out) + "\n"


# The command line


def command_page(ckselect: Path) -> str:
    """What each command says with --help."""

    def said(*words: str) -> str:
        environment = {"COLUMNS": "100", "PATH": os.defpath}
        run = subprocess.run([ckselect, *words], capture_output=True, text=True, check=True, env=environment)
        return run.stdout.rstrip()

    overview = said("--help")
    out = ["# ckselect", f"```text\n{overview}\n```"]
    for name in commands_of(overview):
        text = said(name, "--help")
        out.append(f"## ckselect {name}\n\n```text\n{text}\n```")
        for part in commands_of(text):
            out.append(f"### ckselect {name} {part}\n\n```text\n{said(name, part, '--help')}\n```")
    return "\n\n".join(out) + "\n"


def commands_of(text: str) -> list[str]:
    """The commands that a help lists, by group or not."""
    listed = text.partition("\nOptions:\n")[0]
    return [name for name in re.findall(r"^  (\w+)", listed, re.M) if name != "help"]
