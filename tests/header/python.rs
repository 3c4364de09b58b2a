//! What the Python package has of the C interface and of fields: structs, classes of problems.

use ck_select::vocab::{ConvLayout, Direction, Dtype, FmhaFamily, Op, PRODUCTS};
use ck_select_types::each_operation;
use ck_select_types::field::Kind;

use crate::class;
use crate::fields::{Member, members};

/// The structs that Python does not use.
const NOT_OF_PYTHON: [&str; 12] = [
    "ck_stream_k", "ck_conv_kernel_desc", "ck_quant", "ck_gemm_variant", "ck_gemm_kernel_desc",
    "ck_fmha_kernel_desc", "ck_moe_kernel_desc", "ck_export_options", "ck_hardware", "ck_model_key",
    "ck_kernel_info", "ck_forest_bytes",
];

/// A C type as ctypes has it; addresses of what Python does not look into are plain ones.
fn ctype(c: &str, structs: &[&str]) -> String {
    let plain = c.replace("const", "");
    let (name, stars) = (plain.trim_matches([' ', '*']), plain.matches('*').count());
    let own = structs.contains(&name);
    match (name, stars) {
        ("void", 0) => "None".to_owned(),
        ("char", 1) => "c_char_p".to_owned(),
        ("char", 2) => "POINTER(c_char_p)".to_owned(),
        (_, 0) if own => class(name),
        (_, 0) => format!("c_{}", name.trim_end_matches("_t").replace("size", "size_t")),
        _ if own => format!("POINTER({})", class(name)),
        _ => "c_void_p".to_owned(),
    }
}

const STRUCTS: &str = r#""""The structs of the C interface. Made of the headers by ``tests/header/main.rs``; do not edit."""

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)
from typing import Any


class Sized(Structure):
    """A struct that begins with its own size."""

    _fields_ = [("struct_size", c_size_t)]

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.struct_size = sizeof(self)


def _of(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, kind) for name in names.split()]
"#;

/// The headers' structs as classes of ctypes.
pub(crate) fn structs(headers: &str) -> String {
    let mut text = STRUCTS.to_owned();
    let code = |part: &str| part.split_once("*/").map_or(part, |(_, code)| code).to_owned();
    let headers: String = headers.split("/*").map(code).collect();
    let declared = headers.split("typedef struct {\n").skip(1);
    let declared: Vec<_> = declared
        .filter_map(|rest| {
            let (body, rest) = rest.split_once("\n} ")?;
            Some((rest.split_once(';')?.0, body))
        })
        .filter(|(name, _)| !NOT_OF_PYTHON.contains(name))
        .collect();
    let names: Vec<_> = declared.iter().map(|(name, _)| *name).collect();
    for (name, body) in declared {
        let (mut callbacks, mut fields) = (String::new(), Vec::<(String, String)>::new());
        let is_sized = body.contains("size_t struct_size;");
        for line in body.lines().map(str::trim).filter(|line| line.ends_with(';')).skip(is_sized.into()) {
            let line = line.trim_end_matches(';');
            let (field, python) = if let Some((result, rest)) = line.split_once("(*") {
                let (field, arguments) = rest.split_once(")(").unwrap();
                let arguments = arguments.trim_end_matches(')').split(',').map(|argument| {
                    let at = argument.rfind([' ', '*']).unwrap();
                    format!(", {}", ctype(&argument[..=at], &names))
                });
                let arguments: String = arguments.collect();
                let result = ctype(result, &names);
                callbacks += &format!("{} = CFUNCTYPE({result}{arguments})\n", class(field));
                (field, class(field))
            } else {
                let (c, field) = line.split_at(line.rfind([' ', '*']).unwrap() + 1);
                match field.split_once('[') {
                    Some((field, count)) => {
                        (field, format!("{} * {}", ctype(c, &names), count.trim_end_matches(']')))
                    }
                    None => (field, ctype(c, &names)),
                }
            };
            match fields.last_mut() {
                Some((kind, names)) if *kind == python && names.len() + field.len() < 80 => {
                    *names += " ";
                    *names += field;
                }
                _ => fields.push((python, field.to_owned())),
            }
        }
        let fields: String =
            fields.iter().map(|(kind, names)| format!("        *_of({kind}, \"{names}\"),\n")).collect();
        let base = if is_sized { "Sized" } else { "Structure" };
        let gap = if callbacks.is_empty() { "" } else { "\n\n" };
        text +=
            &format!("{gap}{callbacks}\n\nclass {}({base}):\n    _fields_ = [\n{fields}    ]\n", class(name));
    }
    text
}

const FIELDS: &str = r#""""The fields of problems, in the order of the operations' numbers. Made by ``tests/header/main.rs``; do not edit.

A field is a member of the operation's struct, or an element of one, and a type or words: ``str`` is a word that may be
absent, ``list`` the memory orders of operands, ``tuple`` the extents of a group.
"""

from typing import Any, Literal, get_args


def _alike(kind: Any, names: str) -> dict[str, tuple[str, Any]]:
    """Fields of one type, which are members of their names."""
    return {name: (name, kind) for name in names.split()}


def _elements(member: str, names: str) -> dict[str, tuple[str, Any]]:
    """Numbers, which are the elements of a member."""
    return {name: (f"{member}.{at}", int) for at, name in enumerate(names.split())}


"#;

/// The vocabularies that have a name, and a type.
const NAMED: [(&str, &str, &[&str]); 4] = [
    ("DIRECTIONS", "Direction", Direction::WORDS),
    ("DTYPES", "Dtype", Dtype::WORDS),
    ("LAYOUTS", "Layout", ConvLayout::WORDS),
    ("FMHA_FAMILIES", "FmhaFamily", FmhaFamily::WORDS),
];

/// The type of some words.
fn literal(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("Literal[{}]", words.join(", "))
}

/// A type of words as a line, or a line a word if it would be too long, as ruff formats it.
fn literal_type(name: &str, words: &[&str]) -> String {
    let line = format!("{name} = {}\n", literal(words));
    if line.len() <= 121 {
        return line;
    }
    let words: String = words.iter().map(|word| format!("    {word:?},\n")).collect();
    format!("{name} = Literal[\n{words}]\n")
}

/// The table of all problems' fields.
pub(crate) fn fields() -> String {
    let mut text = FIELDS.to_owned();
    for (name, kind, words) in NAMED {
        text += &literal_type(kind, words);
        text += &format!("{name} = get_args({kind})\n");
    }
    let letters = ["r", "c", "p"];
    let pairs = letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")));
    let layouts: Vec<String> = pairs.flat_map(|ab| letters.map(|c| format!("{ab}{c}"))).collect();
    text += &literal_type("GemmLayout", &layouts.iter().map(String::as_str).collect::<Vec<_>>());
    text += "\nPRODUCTS = {\n";
    for product in &PRODUCTS {
        text += &format!("    {:?}: {:?},\n", product.name, product.arch);
    }
    text += "}\n";
    text += "\nFIELDS: dict[str, dict[str, tuple[str, Any]]] = {\n";
    for &op in Op::ALL {
        let word = format!("{op:?}").to_lowercase();
        text += &format!("    \"{word}\": {{\n{}    }},\n", entries(&members_of(op)));
    }
    text + "}\n"
}

fn members_of(op: Op) -> Vec<Member> {
    each_operation!(op, Own => members::<Own>(&format!("Ck{op:?}Problem")))
}

/// An entry for each member; one for neighbours of one type that are members of their names.
fn entries(members: &[Member]) -> String {
    let mut entries = String::new();
    let mut alike = (String::new(), String::new());
    for member in members.iter().filter(|member| !member.fields.is_empty()) {
        let Member { path, fields, .. } = member;
        let names = fields.iter().map(|field| field.name).collect::<Vec<_>>().join(" ");
        let kind = kind(member);
        let is_alike = *path == names && !kind.contains('(');
        if is_alike && alike.0 == kind && alike.1.len() + names.len() < 80 {
            alike.1 += &format!(" {names}");
            continue;
        }
        entries += &alike_entry(&std::mem::take(&mut alike));
        match fields.len() {
            1 if is_alike => alike = (kind, names),
            1 => entries += &format!("        \"{names}\": (\"{path}\", {kind}),\n"),
            _ => entries += &format!("        **_elements(\"{path}\", \"{names}\"),\n"),
        }
    }
    entries + &alike_entry(&alike)
}

fn alike_entry((kind, names): &(String, String)) -> String {
    match names.contains(' ') {
        true => format!("        **_alike({kind}, \"{names}\"),\n"),
        false if names.is_empty() => String::new(),
        false => format!("        \"{names}\": (\"{names}\", {kind}),\n"),
    }
}

fn kind(member: &Member) -> String {
    match (member.fields[0].kind, member.rust) {
        (Kind::Number, _) => "int".to_owned(),
        (Kind::Flag, _) => "bool".to_owned(),
        (Kind::Shape, _) => "tuple".to_owned(),
        (Kind::Word(_), "*const i8") => "str".to_owned(),
        (Kind::Word(_), "[i32; 3]") => "list".to_owned(),
        (Kind::Word(vocabulary), _) => {
            let named = NAMED.iter().find(|(_, _, words)| *words == vocabulary.words);
            named.map_or_else(|| tuple(vocabulary.words), |(name, ..)| (*name).to_owned())
        }
    }
}

/// Words as a tuple.
fn tuple(words: &[&str]) -> String {
    format!("tuple(\"{}\".split())", words.join(" "))
}

/// Fields that a class has in another way: types that are those of its first operand, pads that are equal.
const TOGETHER: [&str; 6] =
    ["dtype_wei", "dtype_out", "dtype_b", "pad_d_right", "pad_h_right", "pad_w_right"];

/// The fields of a class of problems that it does not have by hand.
pub(crate) fn class_fields(op: Op, module: &str) -> String {
    let operation = format!("OPERATION: ClassVar[str] = \"{}\"", format!("{op:?}").to_lowercase());
    let class = module.split("@dataclass").find(|class| class.contains(&operation));
    let class = class.unwrap_or_else(|| panic!("no Python class has {operation}"));
    let (before, made) = class.split_once("# Made by").unwrap();
    let by_hand = before.to_owned() + made.split_once("# End").unwrap().1;
    let is_by_hand =
        |name: &str| by_hand.contains(&format!("    {name}: ")) || by_hand.contains(&format!("def {name}("));
    let members = members_of(op);
    let fields = members.iter().flat_map(|member| member.fields.iter().zip(&member.usual));
    fields
        .filter(|(field, _)| !field.names().any(is_by_hand) && !TOGETHER.contains(&field.name))
        .map(|(field, &usual)| match field.kind {
            Kind::Number => format!("    {}: int = {usual}\n", field.name),
            Kind::Flag if usual == 0 => format!("    {}: bool = False\n", field.name),
            Kind::Flag => format!("    {}: bool = True\n", field.name),
            Kind::Shape => format!("    {}: tuple[int, int, int] | None = None\n", field.name),
            Kind::Word(_) if usual < 0 => format!("    {}: str | None = None\n", field.name),
            Kind::Word(vocabulary) => {
                format!("    {}: {} = {:?}\n", field.name, literal(vocabulary.words), field.text(usual))
            }
        })
        .collect()
}
