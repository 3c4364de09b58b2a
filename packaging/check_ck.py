"""Compares cpp_examples/stand_in with a checkout of composable_kernel, and compiles the adapters against it.

    make check-ck CK=DIR

What the stand-ins declare (members, functions, enumerators) is looked up in CK's headers by the compiler, type
by type. Then the examples and the adapters' tests are compiled against CK with -Werror, by each compiler that is
there.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = ROOT / "cpp_examples" / "stand_in"
# Header, stand-ins by age, source of the tests, flags of those that have Stream-K.
OPERATIONS = [
    ("ck_tile/dispatcher_conv.hpp", ["v3", "v2", "v1"], "conv"),
    ("ck_tile/dispatcher.hpp", ["g2", "g1"], "gemm"),
    ("ck_tile/dispatcher_fmha.hpp", ["f1"], "fmha"),
]
# So many differences are of one generation, not of another.
FEW = 5
FLAGS = {"g2": ["-DWITH_STREAM_K"]}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|::|->|[^\s]')


def run(arguments, text=""):
    done = subprocess.run(
        [str(one) for one in arguments], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def first_error(text):
    errors = [line for line in text.splitlines() if "error" in line]
    return (errors or text.splitlines() or ["no message"])[0].strip()


def tokens(compiler, include, header):
    """The tokens of the stand-ins that a header includes, without those of the standard library."""
    _, text, _ = run(
        [compiler, "-std=c++20", "-E", "-I", include, "-x", "c++", "-"], f"#include <{header}>\n"
    )
    ours, kept = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = "stand_in" in marker[1]
        elif ours:
            kept.append(line)
    return TOKEN.findall("\n".join(kept))


def names(statement, owner):
    """The names that a statement of a class declares. Those that end with _ are the stand-in's own."""
    if (
        not statement
        or statement[0] in {"using", "typedef", "friend", "template", "static_assert"}
        or "operator" in statement
    ):
        return []
    depth, parts = 0, [[]]
    for at, token in enumerate(statement):
        if token == "(" and depth == 0:
            name = statement[at - 1]
            return [] if name == owner or name.endswith("_") or "~" in statement[:at] else [name]
        if token == "=" and depth == 0:
            parts[-1].append(None)  # What follows is a value.
        depth += (token in "<([{") - (token in ">)]}")
        if token == "," and depth == 0:
            parts.append([])
        elif None not in parts[-1] and depth == 0:
            parts[-1].append(token)
    words = [[token for token in part if token and re.match(r"[A-Za-z_]\w*$", token)] for part in parts]
    return [word[-1] for word in words if word and not word[-1].endswith("_")]


def declared(stream):
    """Classes with their public members, and enumerations with their enumerators."""
    found, scopes, statement, at = {}, [("", "", False)], [], 0

    def end(scope):
        kind, name, public = scope
        if kind == "class" and public:
            found.setdefault(name, []).extend(names(statement, name.split("::")[-1]))
        statement.clear()

    while at < len(stream):
        token = stream[at]
        at += 1
        kind, name, public = scopes[-1]
        if token == ";":
            end(scopes[-1])
        elif token == "}":
            scopes.pop()
            statement[:] = ["struct"] if kind == "class" else []  # `struct {…} member;`
        elif token == ":" and statement in (["public"], ["private"], ["protected"]):
            scopes[-1] = (kind, name, statement == ["public"])
            statement.clear()
        elif token != "{":
            statement.append(token)
        elif "(" not in statement and ("namespace" in statement or "extern" in statement):
            words = "".join(word for word in statement if word not in {"inline", "namespace"})
            scopes.append(("namespace", "::".join(filter(None, [name, words])), False))
            statement.clear()
        elif (
            "(" not in statement
            and "=" not in statement
            and {"class", "struct"} & set(statement)
            and "enum" not in statement
        ):
            key = next(index for index, word in enumerate(statement) if word in {"class", "struct"})
            inner = "::".join(filter(None, [name, statement[key + 1] if key + 1 < len(statement) else ""]))
            is_plain = "template" not in statement and (kind != "class" or public)
            scopes.append(("class" if is_plain else "skipped", inner, "struct" in statement))
            statement.clear()
        else:
            is_enum, body, depth = "enum" in statement, [], 1
            is_value = statement.count("(") > statement.count(")") or (
                "=" in statement and ("(" not in statement or statement.index("=") < statement.index("("))
            )
            while depth:
                depth += (stream[at] == "{") - (stream[at] == "}")
                body.append(stream[at])
                at += 1
            if is_enum:
                label = statement[
                    statement.index("class") + 1 if "class" in statement else statement.index("enum") + 1
                ]
                words = [part.split("=")[0].strip() for part in " ".join(body[:-1]).split(",")]
                found["::".join(filter(None, [name, label]))] = [f"={word}" for word in words if word]
            if "(" in statement and not is_value:
                end(scopes[-1])  # A function with its body.
    return {name: members for name, members in found.items() if members}


PROBE = """
#include <cstdio>
#include <typeinfo>
#include <{header}>
template <class T> const char* type() {{ return __PRETTY_FUNCTION__; }}
{lines}
int main() {{ {calls} }}
"""
MEMBER = 'if constexpr (requires {{ &T::{0}; }}) std::printf("{1} %s %s\\n", typeid(&T::{0}).name(), type<decltype(&T::{0})>()); else std::puts("{1} absent");'
WORD = 'if constexpr (requires {{ T::{0}; }}) std::printf("{1} %d\\n", int(T::{0})); else std::puts("{1} absent");'


def types(compiler, includes, header, classes, folder):
    """What the compiler says of the members of classes, or its first error."""
    lines, calls = "", ""
    for number, (name, members) in enumerate(classes.items()):
        forms = [(WORD if member[0] == "=" else MEMBER, member.lstrip("=")) for member in members]
        body = "\n".join(form.format(member, f"{name}::{member}") for form, member in forms)
        lines += f"template <class T> void all{number}() {{\n{body}\n}}\n"
        calls += f"all{number}<{name}>(); "
    flags = [flag for include in includes for flag in ("-isystem", include)]
    program = folder / "probe"
    text = PROBE.format(header=header, lines=lines, calls=calls)
    code, _, error = run([compiler, "-std=c++20", "-O0", *flags, "-x", "c++", "-", "-o", program], text)
    if code != 0:
        return None, first_error(error)
    return dict(line.split(" ", 1) for line in run([program])[1].splitlines()), ""


def differences(compiler, includes, header, generation, folder):
    classes, found = declared(tokens(compiler, STAND_IN / generation, header)), []
    own, error = types(compiler, [STAND_IN / generation], header, classes, folder)
    if own is None:
        raise SystemExit(f"check-ck: the stand-in {generation} cannot be read: {error}")
    theirs, _ = types(compiler, includes, header, classes, folder)
    if theirs is None:  # One by one, to name the classes that CK lacks.
        theirs = {}
        for name, members in classes.items():
            told, error = types(compiler, includes, header, {name: members}, folder)
            found += [f"{name}: {error}"] if told is None else []
            theirs |= told or {f"{name}::{member.lstrip('=')}": None for member in members}
    for member, told in own.items():
        # The compiler spells one type in several ways, but mangles it in one.
        if theirs[member] is not None and theirs[member].split()[0] != told.split()[0]:
            short = [
                re.sub(r".*\[with T = (.*)\]|.*\[T = (.*)\]", r"\1\2", one) for one in (told, theirs[member])
            ]
            found.append(f"{member}: the stand-in has {short[0]}, CK has {short[1]}")
    return found


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit("check-ck: give a checkout of composable_kernel: make check-ck CK=DIR")
    checkout = Path(sys.argv[1]).resolve()
    compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
    for name in {"g++", "clang++"} - set(compilers):
        print(f"check-ck: {name} is not here: nothing is compiled with it")
    if not compilers:
        raise SystemExit("check-ck: no compiler")
    bad = missing = 0
    for header, generations, operation in OPERATIONS:
        root = next(
            (path.parents[1] for path in sorted(checkout.rglob(Path(header).name)) if path.match(header)),
            None,
        )
        if root is None:
            print(f"check-ck: {operation}: no {header} in {checkout}")
            missing += 1
            continue
        includes = [root] + [path for path in [checkout / "include"] if path.is_dir() and path != root]
        with tempfile.TemporaryDirectory() as folder:
            best = None
            for generation in generations:
                found = differences(compilers[0], includes, header, generation, Path(folder))
                if best is None or len(found) < len(best[1]):
                    best = (generation, found)
                if len(found) <= FEW:
                    break
        generation, found = best
        print(f"check-ck: {operation}: {root}: generation {generation}, {len(found)} differences")
        for line in found:
            print(f"  {line}")
        bad += len(found)
        sources = [
            ROOT / f"tests/cpp/dispatcher_{operation}.cpp",
            ROOT / f"cpp_examples/dispatcher_{generation}.cpp",
        ]
        for source in filter(Path.exists, sources):
            for compiler in compilers:
                flags = [flag for include in includes for flag in ("-isystem", include)]
                flags += ["-I", ROOT / "include", *FLAGS.get(generation, [])]
                flags += ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
                code, _, error = run([compiler, "-std=c++17", *flags, source])
                print(
                    f"check-ck: {compiler} {source.name}: {'compiles' if code == 0 else first_error(error)}"
                )
                bad += code != 0
    raise SystemExit(1 if bad or missing == len(OPERATIONS) else 0)


if __name__ == "__main__":
    main()
