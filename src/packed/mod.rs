//! A forest's text with the numbers of its trees as bytes, so that loading it need not read digits each time.
//! The build script embeds models in this form, and `ckselect dev pack` writes it.
//!
//! ```text
//! packed = magic, part: text up to the line of the first tree, number of trees, a part each: trees,
//!          part: text from the end of the trees on
//! part   = length in bytes, checksum of 8 bytes, bytes
//! tree   = lines
//! line   = 0, text                      as it stands
//!        | kind, key, list              kind: bytes of an integer, `b`, `f` or `d` for bfloat16, single or
//!                                     double precision, the first that is exact
//! ```
//!
//! Texts, keys and lists have their length before them. A file is read part by part, and a part whose
//! checksum is wrong is refused. A number alone is a list of one. All numbers have the lowest byte first;
//! those without a kind have four bytes.

const MAGIC: &[u8] = b"ck-select packed forest 2\n";
/// Integers that a forest is read from.
const INTEGERS: [&str; 11] = [
    "num_leaves", "num_cat", "is_linear", "split_feature", "decision_type", "left_child", "right_child",
    "leaf_count", "internal_count", "cat_boundaries", "cat_threshold",
];
const SINGLES: &str = "split_gain";
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
    put_part(&mut packed, header.as_bytes())?;

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
        put_part(&mut bodies, &body)?;
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
    put_part(&mut packed, rest.as_bytes())?;
    Ok(packed)
}

fn put_part(to: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    to.extend(length(bytes)?);
    to.extend(checksum(bytes).to_le_bytes());
    to.extend(bytes);
    Ok(())
}

/// Four sums side by side, so that none waits for another. Every change of one word changes a sum.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut sums = [bytes.len() as u64; 4];
    for block in bytes.chunks(32) {
        for (sum, word) in sums.iter_mut().zip(block.chunks(8)) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            *sum = step(*sum, u64::from_le_bytes(whole));
        }
    }
    sums.into_iter().fold(0, step)
}

fn length(bytes: &[u8]) -> Result<[u8; 4], String> {
    u32::try_from(bytes.len()).map(u32::to_le_bytes).map_err(|_| "more than 4 GiB".to_owned())
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) -> Result<(), String> {
    to.extend(length(bytes)?);
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
    } else if key == SINGLES {
        floats(numbers::<f32>(key, value)?.into_iter().map(f64::from).collect())
    } else if DOUBLES.contains(&key) {
        floats(numbers(key, value)?)
    } else {
        to.push(0);
        return put(to, format!("{key}={value}").as_bytes());
    };
    let list: Vec<u8> = list;
    to.push(kind);
    put(to, key.as_bytes())?;
    put(to, &list)
}

fn floats(numbers: Vec<f64>) -> (u8, Vec<u8>) {
    if numbers.iter().any(|&number| f64::from(number as f32).to_bits() != number.to_bits()) {
        return (b'd', numbers.into_iter().flat_map(f64::to_le_bytes).collect());
    }
    let bytes = numbers.into_iter().map(|number| (number as f32).to_le_bytes());
    if bytes.clone().all(|bytes| bytes[..2] == [0; 2]) {
        (b'b', bytes.flat_map(|[.., third, last]| [third, last]).collect())
    } else {
        (b'f', bytes.flatten().collect())
    }
}

fn numbers<T: std::str::FromStr>(key: &str, value: &str) -> Result<Vec<T>, String> {
    let number = |token: &str| token.parse().map_err(|_| format!("{key}: '{token}' is not a number"));
    value.split(' ').filter(|token| !token.is_empty()).map(number).collect()
}
