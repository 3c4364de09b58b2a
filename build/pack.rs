//! A forest's text with the numbers of its trees as bytes: who loads it need not read digits at each start.
//! The build script embeds models in this form, and `ckselect pack` writes it.
//!
//! ```text
//! packed = magic, text up to the line of the first tree, number of trees, trees, text from the end of the trees on
//! tree   = length in bytes, lines
//! line   = 0, text                      as it stands
//!        | kind, key, list              kind: bytes of an integer, `f` for single or `d` for double precision
//! ```
//!
//! Texts, keys and lists have their length before them, as a tree has, so that a file is read tree by tree. A number alone is a list of one. All numbers have the
//! lowest byte first; those without a kind have four.

const MAGIC: &[u8] = b"ck-select packed forest 1\n";
/// Integers that a forest is read from.
const INTEGERS: [&str; 11] = [
    "num_leaves",
    "num_cat",
    "is_linear",
    "split_feature",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_count",
    "internal_count",
    "cat_boundaries",
    "cat_threshold",
];
const SINGLES: [&str; 1] = ["split_gain"];
const DOUBLES: [&str; 4] = ["threshold", "leaf_value", "internal_value", "shrinkage"];
/// Numbers that no forest is read from.
const UNUSED: [&str; 2] = ["leaf_weight", "internal_weight"];

/// Packs a LightGBM model text in which trees count up and end at blank lines, as LightGBM writes them. What
/// its values mean is checked where it is read.
pub fn pack(text: &str) -> Result<Vec<u8>, String> {
    let mut lines = text.split_inclusive('\n');
    let mut packed = MAGIC.to_vec();
    let mut header = String::new();
    let mut line = loop {
        let line = lines.next().ok_or("no tree in the text")?;
        header += line;
        if line.starts_with("Tree=") {
            break line.trim_end();
        }
    };
    put(&mut packed, header.as_bytes())?;

    let mut trees: u32 = 0;
    let mut bodies = Vec::new();
    while let Some(number) = line.strip_prefix("Tree=") {
        if number != trees.to_string() {
            return Err(format!("Tree={number} where tree {trees} is expected"));
        }
        trees += 1;
        let mut body = Vec::new();
        loop {
            let line = lines.next().ok_or("the text ends within a tree")?.trim_end_matches(['\r', '\n']);
            let Some((key, value)) = line.split_once('=') else {
                if line.is_empty() {
                    break;
                }
                return Err(format!("tree {}: the line '{line}' has no '='", trees - 1));
            };
            if UNUSED.contains(&key) {
                continue;
            }
            put_line(&mut body, key, value).map_err(|error| format!("tree {}: {error}", trees - 1))?;
        }
        put(&mut bodies, &body)?;
        line = loop {
            let line = lines.next().ok_or("the text ends before `end of trees`")?.trim_end();
            if !line.is_empty() {
                break line;
            }
        };
    }
    if line != "end of trees" {
        return Err(format!("the line '{line}' where a tree or `end of trees` is expected"));
    }
    packed.extend(trees.to_le_bytes());
    packed.append(&mut bodies);
    let rest: String = ["end of trees\n"].into_iter().chain(lines).collect();
    put(&mut packed, rest.as_bytes())?;
    Ok(packed)
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    let length = u32::try_from(bytes.len()).map_err(|_| "more than 4 GiB".to_owned())?;
    to.extend(length.to_le_bytes());
    to.extend(bytes);
    Ok(())
}

fn put_line(to: &mut Vec<u8>, key: &str, value: &str) -> Result<(), String> {
    let (kind, list) = if INTEGERS.contains(&key) {
        let numbers = numbers::<i64>(key, value)?;
        let fits = |bytes: usize| {
            let end = 1i64 << (8 * bytes - 1);
            numbers.iter().all(|number| (-end..end).contains(number))
        };
        let width = [1, 2, 4].into_iter().find(|&bytes| fits(bytes)).unwrap_or(8);
        (
            width as u8,
            numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(width)).collect(),
        )
    } else if SINGLES.contains(&key) {
        (b'f', numbers::<f32>(key, value)?.into_iter().flat_map(f32::to_le_bytes).collect())
    } else if DOUBLES.contains(&key) {
        (b'd', numbers::<f64>(key, value)?.into_iter().flat_map(f64::to_le_bytes).collect())
    } else {
        to.push(0);
        return put(to, format!("{key}={value}").as_bytes());
    };
    let list: Vec<u8> = list;
    to.push(kind);
    put(to, key.as_bytes())?;
    put(to, &list)
}

fn numbers<T: std::str::FromStr>(key: &str, value: &str) -> Result<Vec<T>, String> {
    let number = |token: &str| token.parse().map_err(|_| format!("{key}: '{token}' is not a number"));
    value.split(' ').filter(|token| !token.is_empty()).map(number).collect()
}
