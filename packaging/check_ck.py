"""Compares cpp_examples/stand_in with a checkout of composable_kernel, and compiles the adapters against it.

    make check-ck CK=DIR

What the stand-ins declare (members, functions, enumerators) is looked up in CK's headers by the compiler,
type by type. Then the examples and the adapters' tests are compiled against CK with -Werror, by each compiler
that is here. CK's attention headers and GEMM backends are HIP, which hipcc alone compiles: that of PATH or
ROCM_PATH, or what HIPCXX says (`clang++ -nogpulib` and its flags). No GPU is needed; nothing is linked.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAND_IN = ROOT / "cpp_examples" / "stand_in"
# Header, stand-ins by age, source of the tests, flags of those that have Stream-K.
OPERATIONS = [
    ("ck_tile/dispatcher/grouped_conv_registry.hpp", ["v3", "v2", "v1"], "conv"),
    ("ck_tile/dispatcher.hpp", ["g2", "g1"], "gemm"),
    ("ck_tile/dispatcher_fmha.hpp", ["f1"], "fmha"),
]
# With at most this many differences, CK's headers count as a generation.
FEW = 5
# What the adapters read whole: a field more may stand for another kernel or another problem.
WHOLE = re.compile(r"(Key|Problem|Signature|Algorithm|Shape)$")
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


def crashed(code, error):
    """Whether a compiler ended by itself: what it said tells nothing about CK's headers."""
    return code < 0 or "internal compiler error" in error or "PLEASE submit a bug report" in error


def failure(code, error):
    """What a compiler said, in one line."""
    return ("the compiler crashed: " if crashed(code, error) else "") + first_error(error)


def advice(failures):
    """What helps where no compiler can read CK's headers, by what they said."""
    if any(crashed(*one) for one in failures):
        return "try another version of the compiler that crashed"
    said = "\n".join(error for _, error in failures)
    if re.search(r"hip/|__global__|__device__|blockIdx", said):
        return "CK's headers are HIP: put hipcc on PATH, or set HIPCXX"
    if missing := re.search(r"fatal error: '?([^\s':]+)", said):
        return f"give a whole checkout of composable_kernel, which has {missing[1]}"
    return "they are of no generation that the adapters know"


def compilers():
    """Name and command of each compiler that is there."""
    found = {name: [name] for name in ("g++", "clang++") if shutil.which(name)}
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "bin"
    hip = shlex.split(os.environ.get("HIPCXX", "")) or [
        shutil.which("hipcc") or shutil.which("hipcc", path=rocm)
    ]
    if hip[0]:
        found["hipcc"] = [*hip, "--offload-host-only"]
    for name in ("g++", "clang++", "hipcc"):
        if name not in found:
            print(f"check-ck: {name} is not here: nothing is compiled with it")
    return found


def command(compiler, standard, includes, *arguments):
    """Headers that are not ours must not warn."""
    language = "hip" if "--offload-host-only" in compiler else "c++"
    flags = [flag for include in includes for flag in ("-isystem", include)]
    return [*compiler, f"-std={standard}", *flags, "-x", language, *arguments]


def sources(compiler, includes, header, folder):
    """The lines of a folder's files that a header includes: file, number and text."""
    _, text, _ = run(command(compiler, "c++20", includes, "-E", "-"), f"#include <{header}>\n")
    file, number, kept = "", 0, []
    for line in text.splitlines():
        marker = re.match(r'# (\d+) "(.*?)"', line)
        if marker:
            number, file = int(marker[1]), marker[2]
            continue
        if file.startswith(str(folder)):
            kept.append((file, number, line))
        number += 1
    return kept


def tokens(lines):
    return TOKEN.findall("\n".join(text for _, _, text in lines))


def where(lines, name):
    """The line that declares a member, or else its class: `file:number`."""
    *_, owner, member = name.split("::")
    found = None
    for file, number, text in lines:
        if re.search(rf"\b(struct|class|enum)\b.*\b{owner}\b(?!\s*;)", text):
            found = f"{file}:{number}"
        if found and re.search(rf"\b{member}\b", text):
            return f"{file}:{number}"
        if found and text.rstrip().endswith("};") and not text.startswith("  "):
            break
    return found or "CK"


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
    found, rest = {}, iter(stream)

    def body():
        """The tokens up to the brace that ends them."""
        depth, inside = 1, []
        for token in rest:
            depth += (token == "{") - (token == "}")
            if depth == 0:
                break
            inside.append(token)
        return inside

    def read(scope, is_class=False, public=False):
        """Reads what is between the braces of a namespace or a class."""
        statement = []

        def end():
            if is_class and public:
                found.setdefault("::".join(scope), []).extend(names(statement, scope[-1]))
            statement.clear()

        for token in rest:
            if token == "}":
                return
            is_plain = "(" not in statement
            if token == ";":
                end()
            elif token == ":" and statement in (["public"], ["private"], ["protected"]):
                public = statement == ["public"]
                statement.clear()
            elif token != "{":
                statement.append(token)
            elif is_plain and {"namespace", "extern"} & set(statement):
                words = "".join(word for word in statement if word not in {"inline", "namespace"})
                read([*scope, words] if words else scope)
                statement.clear()
            elif "enum" in statement:
                key = statement.index("class" if "class" in statement else "enum")
                words = [part.split("=")[0].strip() for part in " ".join(body()).split(",")]
                found["::".join([*scope, statement[key + 1]])] = [f"={word}" for word in words if word]
            elif is_plain and "=" not in statement and {"class", "struct"} & set(statement):
                key = min(statement.index(word) for word in ("class", "struct") if word in statement)
                is_known = "template" not in statement and (not is_class or public)
                read([*scope, *statement[key + 1 : key + 2]], is_known, "struct" in statement)
                statement[:] = ["struct"] * is_known  # `struct {…} member;`
            else:
                body()
                opened = statement.count("(") > statement.count(")")
                if not opened and "(" in statement and "=" not in statement[: statement.index("(")]:
                    end()  # A function with its body; others are values.

    read([])
    return {name: members for name, members in found.items() if members}


PROBE = """
#include <type_traits>
#include <{header}>
template <int, class> void at() {{}}
{lines}
"""
MEMBER = "if constexpr (requires {{ &T::{0}; }}) at<{1}, decltype(&T::{0})>();"
WORD = "if constexpr (requires {{ T::{0}; }}) at<{1}, std::integral_constant<int, int(T::{0})>>();"
SYMBOL = re.compile(r"^(_Z2atILi(\d+)E(\w+)EvvE?\w*):", re.MULTILINE)


def types(compiler, includes, header, classes):
    """The members of classes with their mangled types, or None with the compiler's first error."""
    lines, members = "", []
    for number, (name, words) in enumerate(classes.items()):
        body = ""
        for word in words:
            form = WORD if word[0] == "=" else MEMBER
            body += form.format(word.lstrip("="), len(members)) + "\n"
            members.append(f"{name}::{word.lstrip('=')}")
        lines += f"template <class T> void all{number}() {{\n{body}}}\ntemplate void all{number}<{name}>();\n"
    text = PROBE.format(header=header, lines=lines)
    code, assembly, error = run(command(compiler, "c++20", includes, "-O0", "-S", "-o", "-", "-"), text)
    if code != 0:
        return None, failure(code, error)
    found = {int(number): (mangled, symbol) for symbol, number, mangled in SYMBOL.findall(assembly)}
    return {member: found.get(number, ("", "")) for number, member in enumerate(members)}, ""


def spelled(symbol):
    """The type of a symbol, as one reads it."""
    if not symbol:
        return "none, or several of this name"
    _, text, _ = run(["c++filt", symbol]) if shutil.which("c++filt") else (0, symbol, "")
    return re.sub(r"^void at<\d+, (?:std::integral_constant<int, )?(.*?)>* ?>\(\)$", r"\1", text.strip())


def differences(compiler, includes, header, generation):
    """What the stand-in has otherwise than CK, and which enumerators CK has besides."""
    own_include, lines = STAND_IN / generation, sources(compiler, includes, header, includes[0].parent)
    classes, found = declared(tokens(sources(compiler, [own_include], header, STAND_IN))), []
    own, error = types(compiler, [own_include], header, classes)
    if own is None:
        raise SystemExit(f"check-ck: the stand-in {generation} cannot be read: {error}")
    theirs, _ = types(compiler, includes, header, classes)
    if theirs is None:  # One by one, to name the classes that CK lacks.
        theirs = {}
        for name, members in classes.items():
            told, error = types(compiler, includes, header, {name: members})
            theirs |= told or {}
            found += [] if told else [f"{name}: CK has none: {error}"]
    for member in filter(theirs.get, own):
        (mine, symbol), (cks, other) = own[member], theirs[member]
        if mine != cks:
            has = f"the stand-in has {spelled(symbol)}, CK has {spelled(other)}"
            found.append(f"{where(lines, member)}: {member}: {has}")
    besides = []
    for name, members in declared(tokens(lines)).items():
        more = [member for member in members if member not in classes.get(name, members)]
        words = [member[1:] for member in more if member[0] == "="]
        besides += [f"{name}: CK has {', '.join(words)} besides"] if words else []
        fields = [member for member in more if member[0] != "=" and WHOLE.search(name)]
        typed, _ = types(compiler, includes, header, {name: fields}) if fields else ({}, "")
        for member, (_, symbol) in (typed or {}).items():
            if "(" not in spelled(symbol):  # No function.
                found.append(f"{where(lines, member)}: {member}: the stand-in has none, CK has {spelled(symbol)}")
    return found, besides


def nearest(compiler, includes, header, generations):
    """The newest generation with few differences, or that with the fewest."""
    best = None
    for generation in generations:
        found, besides = differences(compiler, includes, header, generation)
        if best is None or len(found) < len(best[1]):
            best = (generation, found, besides)
        if len(found) <= FEW:
            break
    return best


def check(operation, header, generations, includes, able):
    """Differences and sources that do not compile, by the compilers that can read CK's header."""
    generation, found, besides = nearest(next(iter(able.values())), includes, header, generations)
    print(f"check-ck: {operation}: {includes[0]}: generation {generation}, {len(found)} differences")
    for line in found + besides:
        print(f"  {line}")
    bad = len(found)
    sources = [
        ROOT / f"tests/cpp/dispatcher_{operation}.cpp",
        ROOT / f"cpp_examples/dispatcher_{generation}.cpp",
    ]
    for source in filter(Path.exists, sources):
        for name, compiler in able.items():
            flags = ["-I", ROOT / "include", *FLAGS.get(generation, [])]
            flags += ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", source]
            code, _, error = run(command(compiler, "c++17", includes, *flags))
            print(f"check-ck: {name} {source.name}: {'compiles' if code == 0 else failure(code, error)}")
            bad += code != 0
    return bad


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit("check-ck: give a checkout of composable_kernel: make check-ck CK=DIR")
    checkout = Path(sys.argv[1]).resolve()
    code, commit, _ = (
        run(["git", "-C", checkout, "rev-parse", "HEAD"]) if shutil.which("git") else (1, "", "")
    )
    print(f"check-ck: {checkout}, {'commit ' + commit.strip() if code == 0 else 'no commit known'}")
    here = compilers()
    bad = missing = 0
    for header, generations, operation in OPERATIONS:
        paths = sorted(path for path in checkout.rglob(Path(header).name) if path.match(header))
        if not paths:
            print(f"check-ck: {operation}: no {header} in {checkout}")
            missing += 1
            continue
        root = paths[0].parents[len(Path(header).parts) - 1]
        # CK's own headers lie beside its dispatcher.
        includes = [root, *(path for path in [root.parents[1] / "include"] if path.is_dir() and path != root)]
        able, failures = {}, []
        for name, compiler in here.items():
            code, _, error = run(
                command(compiler, "c++17", includes, "-fsyntax-only", "-"), f"#include <{header}>\n"
            )
            if code == 0:
                able[name] = compiler
            else:
                print(f"check-ck: {operation}: {name} cannot compile CK's {header}: {failure(code, error)}")
                failures.append((code, error))
                bad += crashed(code, error)
        if able:
            bad += check(operation, header, generations, includes, able)
        else:
            print(f"check-ck: {operation}: not checked: {advice(failures)}")
            bad += 1
    raise SystemExit(1 if bad or missing == len(OPERATIONS) else 0)


if __name__ == "__main__":
    main()
