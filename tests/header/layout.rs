//! Lays out what cbindgen wrote as people read it: the meaning of a field beside it, functions by task, a
//! comment as one block. What Rust wants said of pointers is left out, because the header's first comment
//! says it for all.

const WIDTH: usize = 110;

/// A declaration with the paragraphs of its comment.
struct Item {
    doc: Vec<String>,
    code: String,
}

impl Item {
    fn new(block: &str) -> Self {
        let (comment, code) =
            block.strip_prefix("/**\n").and_then(|rest| rest.split_once(" */\n")).unwrap_or(("", block));
        Self { doc: paragraphs(comment), code: code.to_owned() }
    }

    /// The function that it declares.
    fn function(&self) -> Option<&str> {
        let name = self.code.split_once('(')?.0.rsplit([' ', '*']).next()?;
        name.starts_with("ck_").then_some(name).filter(|_| self.code.ends_with(");"))
    }

    /// The function whose comment is also this one's.
    fn sibling(&self) -> Option<&str> {
        self.doc.first()?.strip_prefix("As `")?.split('`').next()
    }

    fn print(&self) -> String {
        let comment = block(&self.doc);
        if self.function().is_some() {
            return comment + &folded(&self.code);
        }
        match self.code.split_once(" {\n").zip(self.code.rsplit_once("\n}")) {
            Some(((head, rest), (_, tail))) if head.starts_with("typedef") => {
                let body = rest.rsplit_once("\n}").unwrap().0;
                format!("{comment}{head} {{\n{}}}{tail}", members(body))
            }
            _ => comment + &self.code,
        }
    }
}

/// A comment's text up to what Rust wants said of pointers.
fn paragraphs(comment: &str) -> Vec<String> {
    let lines: Vec<&str> =
        comment.lines().map(|line| line.trim_start().trim_start_matches('*').trim()).collect();
    let text = lines.join("\n");
    let said = text.split("# Safety").next().unwrap().split("\n\n");
    said.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !part.is_empty())
        .collect()
}

/// Words in lines of a width.
pub(crate) fn filled<'a>(words: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn block(doc: &[String]) -> String {
    let filled = |part: &String| filled(part.split(' '), WIDTH - 7).join("\n *  ");
    match doc {
        [] => String::new(),
        _ => format!("/** {} */\n", doc.iter().map(filled).collect::<Vec<_>>().join("\n *\n *  ")),
    }
}

/// A prototype in as few lines as it fits.
fn folded(code: &str) -> String {
    let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let arguments = words.replace(", ", ",\u{0}");
    filled(arguments.split('\0'), WIDTH - 4).join("\n    ")
}

/// Fields or values, each with its comment beside it; values without comments in as few lines as they fit.
fn members(body: &str) -> String {
    let mut found: Vec<Item> = Vec::new();
    let (mut comment, mut code) = (String::new(), String::new());
    for line in body.lines().map(str::trim) {
        if line.starts_with(['/', '*']) {
            comment += &format!("{}\n", line.trim_start_matches("/**").trim_end_matches("*/"));
            continue;
        }
        code += line;
        if line.ends_with([';', ',']) {
            let doc = paragraphs(&std::mem::take(&mut comment));
            found.push(Item { doc, code: std::mem::take(&mut code) });
        }
    }
    if found.iter().all(|member| member.doc.is_empty()) {
        let values = filled(found.iter().map(|member| member.code.as_str()), WIDTH - 2);
        return values.iter().map(|line| format!("  {line}\n")).collect();
    }
    // The header's first comment says what these are for.
    for member in &mut found {
        if member.code.ends_with(" struct_size;") || member.code.ends_with(" reserved;") {
            member.doc.clear();
        }
    }
    let commented = found.iter().filter(|member| !member.doc.is_empty());
    let lengths = commented.map(|member| member.code.len()).filter(|length| *length <= 38);
    let column = 3 + lengths.max().unwrap_or(0);
    found.iter().map(|member| beside(member, column)).collect()
}

/// A field with its comment from a column on.
fn beside(Item { doc, code }: &Item, column: usize) -> String {
    let mut line = format!("  {code}");
    if doc.is_empty() {
        return line + "\n";
    }
    let words = doc.iter().flat_map(|part| part.split(' '));
    let text = filled(words, WIDTH - column - 8).join(&format!("\n{:1$}", "", column + 5));
    if line.len() >= column {
        line += "\n";
    }
    let begin = line.rsplit('\n').next().unwrap().len();
    line + &format!("{:1$}/**< {text} */\n", "", column - begin)
}

/// A header as cbindgen writes it, with its functions under headings. `groups` has the functions that each
/// heading is over.
pub(crate) fn laid_out(made: &str, groups: &[(&str, String)]) -> String {
    let items: Vec<Item> = made.trim_end().split("\n\n").map(Item::new).collect();
    let (functions, others): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.function().is_some());
    let (own, shared): (Vec<&Item>, Vec<&Item>) =
        functions.into_iter().partition(|item| item.sibling().is_none());
    let mut text = String::new();
    for item in others {
        if item.code.contains("}  // extern \"C\"") {
            text += &grouped(&own, &shared, groups);
        }
        text += &format!("{}\n\n", item.print());
    }
    text.trim_end().to_owned() + "\n"
}

fn grouped(own: &[&Item], shared: &[&Item], groups: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut printed = 0;
    for (heading, sources) in groups {
        text += &format!("/* {heading} {} */\n\n", "-".repeat(WIDTH - 7 - heading.len()));
        for item in own {
            let name = item.function().unwrap();
            if !sources.contains(&format!("fn {name}(")) {
                continue;
            }
            let siblings = shared.iter().filter(|other| other.sibling() == Some(name));
            let codes: Vec<String> = siblings.map(|other| folded(&other.code)).collect();
            printed += 1 + codes.len();
            text += &format!("{}\n\n", [vec![item.print()], codes].concat().join("\n"));
        }
    }
    assert_eq!(
        printed,
        own.len() + shared.len(),
        "functions under no heading, or that are as one that is not there"
    );
    text
}
