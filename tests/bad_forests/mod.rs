//! The forests of table.txt, a paragraph each: its name; its changes to tests/golden/forest/by-hand.txt,
//! where `A-B: text` puts text in the place of lines A to B, or before line A where B < A, and `A-B` deletes
//! them; and after `>` the message. Text has Rust's escapes of bytes.

/// A forest's name, its text and the message.
pub(crate) type BadForest = (&'static str, Vec<u8>, &'static str);

pub(crate) fn bad_forests() -> Vec<BadForest> {
    let table = include_str!("table.txt").trim_end();
    table.split("\n\n").map(bad_forest).collect()
}

fn bad_forest(paragraph: &'static str) -> BadForest {
    let base: Vec<_> = include_str!("../golden/forest/by-hand.txt").split('\n').map(str::as_bytes).collect();
    let (name, rest) = paragraph.split_once('\n').unwrap();
    let (changes, message) = rest.split_once("> ").unwrap();
    let mut lines = Vec::new();
    let mut kept = 0;
    for change in changes.lines() {
        let (range, text) =
            change.split_once(": ").map_or((change, None), |(range, text)| (range, Some(text)));
        let (first, last) = range.split_once('-').unwrap();
        lines.extend(base[kept..first.parse::<usize>().unwrap() - 1].iter().map(|line| line.to_vec()));
        lines.extend(text.map(bytes));
        kept = last.parse().unwrap();
    }
    lines.extend(base[kept..].iter().map(|line| line.to_vec()));
    (name, lines.join(&b'\n'), message)
}

fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => other,
            },
            byte => byte,
        });
    }
    bytes
}
