"""Reads C and C++ headers: what they declare, and the comment before each declaration."""

import re
from dataclasses import dataclass, field

# What is skipped as a whole where it occurs inside of a declaration or of a body.
QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
COMMENT = re.compile(r"/\*.*?\*/|(?:[ \t]*//[^\n]*\n?)+", re.S)
BLOCK = re.compile(
    r'(?:template\s*<.*>\s*)?(?:typedef\s+)?(namespace\b|extern\s*"C"|class\b|struct\b|enum\b)[^()]*$', re.S
)


@dataclass
class Item:
    """A declaration: its comment, its code without a body, and what is declared inside."""

    doc: str
    code: str
    kind: str = ""
    members: list["Item"] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What is declared."""
        if self.kind == "typedef":
            return self.code.split()[-1]
        code = re.sub(r"^template\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>\s*", "", self.code)
        if self.kind:
            return re.sub(r"^(?:enum class|class|struct|namespace|enum)\s+", "", code).split(" :")[0]
        for pattern in (
            r"#define (\w+)",
            r"using (\w+)",
            r"(operator\S+?)\s*\(",
            r"^[\w ]+\(\*(\w+)\)\(",
            r"([\w~]+)\s*\(",
            r"(\w+)\s*(?:[=\[{;,].*)?$",
        ):
            if found := re.search(pattern, code, re.S):
                return found[1]
        raise ValueError(f"a declaration without a name: {self.code}")


def words(comment: str) -> str:
    """A comment's text, without what marks it as one."""
    if comment.startswith("/*"):
        comment = re.sub(r"^/\*+<?|\*+/$", "", comment)
        return re.sub(r"^[ \t]*\* ?", "", comment, flags=re.M).strip()
    return re.sub(r"^[ \t]*///? ?", "", comment, flags=re.M).strip()


class Reader:
    """A header's text, and how far it is read."""

    def __init__(self, source: str, plain_comments: bool = False):
        self.source, self.at = source, 0
        # Whether a comment without a third sign counts: in a header in which no other kind occurs.
        self.plain = plain_comments

    def items(self, ends: str = ";", is_public: bool = True) -> list[Item]:
        """The public declarations up to the end of this block."""
        out, doc = [], ""
        while True:
            self.at += len(re.match(r"\s*", self.source[self.at :])[0])
            rest = self.source[self.at :]
            if not rest or rest[0] == "}":
                self.at += 1
                return out
            if found := COMMENT.match(rest):
                self.at += found.end()
                if found[0].startswith("/**<"):
                    out[-1].doc = words(found[0])
                    continue
                is_doc = self.plain or re.match(r"/\*\*|\s*///", found[0])
                doc = words(found[0]) if is_doc else ""
                continue
            if found := re.match(r"(public|private|protected)\s*:(?!:)", rest):
                is_public = found[1] == "public"
                self.at += found.end()
            elif found := re.match(r"#(?:[^\n\\]|\\\n)*", rest):
                self.at += found.end()
                if re.match(r"#define \w+ +\S", found[0]):
                    out.append(Item(doc, found[0], ""))
            elif rest[0] in ";,":
                self.at += 1
            else:
                item = self.declaration(doc, ends)
                if item.kind == "extern":
                    out += item.members
                elif is_public:
                    out.append(item)
            doc = ""

    def declaration(self, doc: str, ends: str) -> Item:
        """One declaration, up to its end."""
        code, depth = "", 0
        while self.at < len(self.source):
            here = self.source[self.at]
            if found := QUIET.match(self.source, self.at):
                self.at = found.end()
                if here in "\"'":
                    code += found[0]
                continue
            if here == "}" and depth == 0:
                break
            if here == "{":
                if depth == 0 and (block := BLOCK.match(code.strip())):
                    return self.block(doc, code.strip(), block[1])
                begin = self.at
                self.skip_braces()
                if depth == 0 and ")" in code:
                    # A body, unless a list of initialisers goes on.
                    if re.match(r"\s*[,{]", self.source[self.at :]) and re.search(r"\)\s*(?:noexcept\s*)?:[^:]", code):
                        continue
                    break
                code += self.source[begin : self.at]
                continue
            self.at += 1
            if depth == 0 and here in ends:
                break
            depth += (here in "([") - (here in ")]")
            code += here
        return Item(doc, tidy(code))

    def block(self, doc: str, head: str, word: str) -> Item:
        """What has declarations inside."""
        self.at += 1
        kind = word.split()[0].split('"')[0]
        inside = self.items("," if kind == "enum" else ";", kind != "class")
        if kind in ("namespace", "extern"):
            return Item(doc, tidy(head), kind, inside)
        end = self.source.index(";", self.at)
        name = self.source[self.at : end].strip()
        self.at = end + 1
        if head.startswith("typedef"):
            return Item(doc, f"{head} {name}", "typedef", inside)
        return Item(doc, tidy(head), kind, inside)

    def skip_braces(self) -> None:
        """Passes over everything between braces."""
        depth = 0
        while True:
            if found := QUIET.match(self.source, self.at):
                self.at = found.end()
                continue
            depth += (self.source[self.at] == "{") - (self.source[self.at] == "}")
            self.at += 1
            if depth == 0:
                return


def tidy(code: str) -> str:
    """Code as a reader of a reference wants it: what is promised, not how it is done."""
    code = re.sub(r"\[\[\w+\]\]\s*|\binline\s+", "", code)
    code = re.sub(r"(\)(?:\s*noexcept)?)\s*:(?!:).*", r"\1", code, flags=re.S)
    return re.sub(r"\s+", " ", code).strip()


def flat(items: list[Item], inside: str = "") -> dict[str, Item]:
    """All items by their qualified names, with namespaces opened."""
    out: dict[str, Item] = {}
    for item in items:
        if item.kind == "namespace":
            out |= flat(item.members, f"{inside}{item.name}::")
        else:
            name = f"{inside}{item.name}"
            while name in out:
                name += "\t"
            out[name] = item
    return out
