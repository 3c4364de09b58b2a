//! What the C++ layer has of vocabularies and fields: enums, setters of problems, words of kernels.

use ck_select::vocab::Op;
use ck_select_types::each_operation;
use ck_select_types::field::Kind;
use ck_select_types::operation::OperationProblem;

use crate::fields::{Member, members};
use crate::{ENUMS, layout};

const VOCABULARIES: &str = "\
/* The vocabularies as enums, and their words in files and kernel names. Made by tests/header/main.rs; do not \
edit. */

#ifndef CK_SELECT_VOCABULARIES_HPP
#define CK_SELECT_VOCABULARIES_HPP

#include <cstdint>
#include <string_view>

namespace ck_select {
";

/// How many of the enums are classes in C++.
const CLASSES: usize = 4;

/// The enums of the C++ layer, whose names are words but for those of one letter.
pub(crate) fn vocabularies() -> String {
    const MAJORS: [&str; 3] = ["r", "c", "p"];
    let mut text = VOCABULARIES.to_owned();
    for (name, _, words) in &ENUMS[..CLASSES] {
        let spelled = if *name == "CkMajor" { &MAJORS[..] } else { words };
        let lines = |text: &str| format!(" {}", layout::filled(text.split(' '), 104).join("\n "));
        let quoted: Vec<_> = spelled.iter().map(|word| format!("{word:?}")).collect();
        let (enumerators, quoted) = (lines(&words.join(", ")), lines(&quoted.join(", ")));
        text += &format!(
            "\nenum class {} : std::int32_t {{{}\n}};\nnamespace detail {{\ninline constexpr std::string_view \
             {}_words[] = {{{}\n}};\n}}  // namespace detail\n",
            &name[2..],
            indented(&enumerators),
            snake(&name[2..]),
            indented(&quoted)
        );
    }
    let ops: Vec<_> = operations().collect();
    text += &format!("\nenum class Op : std::int32_t {{ {} }};\n", ops.join(", "));
    text + "\n}  // namespace ck_select\n\n#endif  // CK_SELECT_VOCABULARIES_HPP\n"
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("\n   {line}")).collect()
}

/// A type's name as C has it.
pub(crate) fn snake(name: &str) -> String {
    let letter = |(at, letter): (usize, char)| match at {
        1.. if letter.is_uppercase() => format!("_{}", letter.to_lowercase()),
        _ => letter.to_lowercase().to_string(),
    };
    name.char_indices().map(letter).collect()
}

/// Where C++ has a name for what is a letter in formulas.
const NAMES: [(&str, &str); 4] = [
    ("ConvProblem.n", "batch"),
    ("ConvProblem.g", "groups"),
    ("ConvProblem.pad_left", "padding_left"),
    ("ConvProblem.pad_right", "padding_right"),
];

/// What has a function by hand: the extents of an input tell the number of dimensions, and what a histogram
/// comes to is one call.
const BY_HAND: [&str; 4] =
    ["ConvProblem.input", "MoeProblem.active", "MoeProblem.largest", "MoeProblem.tiles"];

/// The setters of an operation's problems, one for each field. Lists and architectures have theirs by hand.
pub(crate) fn setters(op: Op) -> String {
    let class = format!("{op:?}Problem");
    let members = each_operation!(op, Own => members::<Own>(&format!("Ck{class}")));
    let of_table = members.iter().filter(|member| !member.fields.is_empty());
    of_table.map(|member| setter(&class, member)).collect()
}

fn setter(problem: &str, member: &Member) -> String {
    let full = format!("{problem}.{}", member.path);
    if BY_HAND.contains(&full.as_str()) {
        return String::new();
    }
    let name = NAMES.iter().find(|(known, _)| *known == full).map_or(member.name, |(_, name)| name);
    let path = &member.path;
    let set = |parameters: &str, values: &str| {
        let head = format!("  {problem}& {name}({parameters}) noexcept {{");
        let body = format!("return set(raw_.{path}, {values});");
        match head.len() + body.len() {
            ..117 => format!("{head} {body} }}\n"),
            _ => format!("{head}\n    {body}\n  }}\n"),
        }
    };
    let axes = |rest| {
        let call = format!("axes(raw_.{path}, {rest}, values...)");
        format!(
            "  template <class... Values>\n  {problem}& {name}(Values... values) noexcept {{ return {call}; }}\n"
        )
    };
    let field = member.fields[0];
    match (field.kind, member.rust) {
        (Kind::Flag, "i32") => set("bool value", "value"),
        (Kind::Word(_), "*const i8") => set("const char* word", "word"),
        (Kind::Word(vocabulary), "i32") => set(&format!("{} value", enum_of(vocabulary.words)), "value"),
        (Kind::Word(_), "[i32; 3]") => set("Major a, Major b, Major c", "a, b, c"),
        (Kind::Shape, "[i32; 3]") => set("std::int32_t m, std::int32_t n, std::int32_t k", "m, n, k"),
        (Kind::Number, "[i64; 3]") => axes(field.least),
        (Kind::Number, "i64") => set("std::int64_t value", "value"),
        (Kind::Number, "i32") => set("std::int32_t value", "value"),
        (_, rust) => panic!("{full}: no setter for {rust}"),
    }
}

/// The operations' words in C's names.
fn operations() -> impl Iterator<Item = String> {
    Op::ALL.iter().map(|op| snake(&format!("{op:?}")))
}

/// The callables in a kernel's hooks: those of a kind, which return and take this.
pub(crate) fn callables(kind: &str, signature: &str) -> String {
    let line = |op: String| format!("  std::function<{}> {kind}_{op};\n", signature.replace("OP", &op));
    operations().map(line).collect()
}

/// The same in C's struct.
pub(crate) fn passed_callables() -> String {
    let line = |kind: &str, op: String| {
        format!(
            "    made.{kind}_{op} = hooks_.{kind}_{op} ? &{kind}<&Hooks::{kind}_{op}, ck_{op}_problem> : nullptr;\n"
        )
    };
    ["supports", "run"].iter().flat_map(|kind| operations().map(move |op| line(kind, op))).collect()
}

/// The C functions and the callables of each operation.
pub(crate) fn calls() -> String {
    let calls = |op: String| {
        let functions = [
            ("init", format!("ck_{op}_problem_init")),
            ("select", format!("ck_registry_select_{op}")),
            ("rank", format!("ck_registry_rank_{op}")),
            ("predict", format!("ck_registry_predict_{op}")),
            ("features", format!("ck_registry_extract_{op}")),
            ("explain", format!("ck_registry_explain_{op}")),
            ("supports", format!("&Hooks::supports_{op}")),
            ("run", format!("&Hooks::run_{op}")),
        ];
        let lines =
            functions.map(|(name, function)| format!("  static constexpr auto {name} = {function};\n"));
        format!(
            "template <>\nstruct Calls<ck_{op}_problem> {{\n{}}};\n\
             [[nodiscard]] inline const ck_{op}_problem& raw(const ck_{op}_problem& problem) noexcept {{ return problem; }}\n\n",
            lines.concat()
        )
    };
    operations().map(calls).collect()
}

/// The C++ type of a word's number.
fn enum_of(words: &[&str]) -> String {
    match ENUMS.iter().position(|(_, _, known)| *known == words) {
        Some(at) if at < CLASSES => ENUMS[at].0[2..].to_owned(),
        Some(at) => snake(ENUMS[at].0),
        None => "std::int32_t".to_owned(),
    }
}

const KERNELS: &str = "\
/* Descriptors of kernels: words, which are those of kernel names, and numbers, at first those of CK's default key;
 * capi() points to the words. No aggregates, so that braces around names do not become a descriptor. Made by
 * tests/header/main.rs; do not edit. */

#ifndef CK_SELECT_KERNEL_HPP
#define CK_SELECT_KERNEL_HPP

#include <string>

#include \"error.hpp\"

namespace ck_select {
";

/// Descriptors of kernels, which own their words. `header` is C's.
pub(crate) fn kernels(header: &str) -> String {
    let kernels = Op::ALL.iter().map(|&op| kernel(op, header));
    KERNELS.to_owned()
        + &kernels.collect::<String>()
        + "\n}  // namespace ck_select\n\n#endif  // CK_SELECT_KERNEL_HPP\n"
}

fn kernel(op: Op, header: &str) -> String {
    let (c, kernel) = (snake(&format!("{op:?}")), format!("{op:?}Kernel"));
    let struct_name = format!("Ck{kernel}Desc");
    let members = each_operation!(op, Own => members::<<Own as OperationProblem>::Kernel>(&struct_name));
    let words: Vec<Word> = members.iter().filter_map(|member| Word::new(member, header)).collect();
    let declared: String = words.iter().map(Word::declaration).collect();
    let passed: String = words.iter().map(Word::passed).collect();
    format!(
        "
/// See ck_{c}_kernel_desc.
struct {kernel} {{
  {kernel}() {{ detail::check(ck_{c}_kernel_desc_init(&key)); }}

{declared}  /// The numbers; its words are those of this object.
  ck_{c}_kernel_desc key;

  [[nodiscard]] ck_{c}_kernel_desc capi() const {{
    ck_{c}_kernel_desc raw = key;
{passed}    return raw;
  }}
  static constexpr auto add_all = ck_registry_add_{c}_kernels;
}};
"
    )
}

/// A member of a kernel that is a word.
struct Word {
    path: String,
    name: String,
    doc: String,
    /// None if there need not be one.
    usual: Option<String>,
}

impl Word {
    fn new(member: &Member, header: &str) -> Option<Self> {
        let path = match member.rust.rsplit_once("::") {
            None if member.rust == "*const i8" => member.path.clone(),
            Some((_, inner)) => format!("{}.{}", member.path, first_word(header, inner)?),
            None => return None,
        };
        let usual = member.fields.first().map(|field| field.text(member.usual[0]));
        let doc = match member.name {
            "name" => "Empty for CK's own name.".to_owned(),
            _ => member.doc.replace("NULL", "Empty").replace('`', "\""),
        };
        Some(Self { path, name: member.name.to_owned(), doc, usual: usual.filter(|word| !word.is_empty()) })
    }

    fn declaration(&self) -> String {
        let usual = self.usual.as_ref().map_or_else(String::new, |word| format!(" = {word:?}"));
        let doc = layout::filled(self.doc.split(' '), 112).join("\n  /// ");
        format!("  /// {doc}\n  std::string {}{usual};\n", self.name)
    }

    fn passed(&self) -> String {
        let Self { path, name, usual, .. } = self;
        let text = if usual.is_some() { "text" } else { "optional_text" };
        format!("    raw.{path} = detail::{text}({name}, \"{name}\");\n")
    }
}

/// The member of a C struct in another one that is its word.
fn first_word<'a>(header: &'a str, c_struct: &str) -> Option<&'a str> {
    let end = header.find(&format!("}} {};", snake(c_struct)))?;
    let body = &header[header[..end].rfind("typedef struct {")?..end];
    body.split_once("const char *")?.1.split(';').next()
}
