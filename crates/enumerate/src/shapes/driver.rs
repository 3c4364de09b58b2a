//! Command lines of `MIOpenDriver`, as in logs and lists of real programs.

use ck_select_types::nearest::Hint;
use ck_select_types::problem::{ConvProblem, Problem};
use ck_select_types::vocab::{ConvLayout, Direction, Dtype};

/// A line that is not a convolution, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The line, from 1.
    pub line: u64,
    /// What was found and what was expected.
    pub reason: String,
}

/// The problems of all lines, and the lines that were not understood. Blank lines, comments (`#`) and text
/// before the driver's name, such as a log's time, are ignored.
///
/// A line of several directions (no `--forw`, 0, or a sum of 1, 2 and 4) is taken for `direction`, and is
/// skipped if that is not among them; a line of one direction keeps it.
pub fn import(text: &str, direction: Direction) -> (Vec<Problem>, Vec<Skipped>) {
    let mut problems = Vec::new();
    let mut skipped = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read_line(line, direction) {
            Ok(problem) => problems.push(problem),
            Err(reason) => skipped.push(Skipped { line: number, reason }),
        }
    }
    (problems, skipped)
}

/// Flags with their short forms, all that the driver has for convolutions.
const FLAGS: [(&str, &str); 52] = [
    ("batchsize", "n"),
    ("in_channels", "c"),
    ("out_channels", "k"),
    ("in_d", "!"),
    ("in_h", "H"),
    ("in_w", "W"),
    ("fil_d", "@"),
    ("fil_h", "y"),
    ("fil_w", "x"),
    ("group_count", "g"),
    ("conv_stride_d", "#"),
    ("conv_stride_h", "u"),
    ("conv_stride_w", "v"),
    ("pad_d", "$"),
    ("pad_h", "p"),
    ("pad_w", "q"),
    ("dilation_d", "^"),
    ("dilation_h", "l"),
    ("dilation_w", "j"),
    ("spatial_dim", "_"),
    ("forw", "F"),
    ("mode", "m"),
    ("pad_mode", "z"),
    ("pad_val", "r"),
    ("tensor_vect", "Z"),
    ("vector_length", "L"),
    ("in_cast_type", "U"),
    ("out_cast_type", "T"),
    ("wei_cast_type", "R"),
    // The others say how to run and check it, or are for transposed convolutions.
    ("in_layout", "I"),
    ("fil_layout", "f"),
    ("out_layout", "O"),
    ("trans_output_pad_d", "%"),
    ("trans_output_pad_h", "Y"),
    ("trans_output_pad_w", "X"),
    ("time", "t"),
    ("iter", "i"),
    ("verify", "V"),
    ("verification_cache", "C"),
    ("fast_verify", "C"),
    ("wall", "w"),
    ("search", "s"),
    ("printconv", "P"),
    ("dump_output", "o"),
    ("in_data", "d"),
    ("weights", "e"),
    ("bias", "b"),
    ("in_bias", "a"),
    ("dout_data", "D"),
    ("solution", "S"),
    ("gpualloc", "G"),
    ("gpubuffer_check", "~"),
];

/// Flags that must keep these values: no problem has what others ask for.
const NEUTRAL: [(&str, &[&str]); 8] = [
    ("mode", &["conv"]),
    ("pad_mode", &["conv", "default"]),
    ("pad_val", &["0"]),
    ("tensor_vect", &["0"]),
    ("vector_length", &["1"]),
    ("in_cast_type", &["-1"]),
    ("out_cast_type", &["-1"]),
    ("wei_cast_type", &["-1"]),
];

/// The flags of a line by their long names, each once.
struct Flags<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Flags<'a> {
    fn read(words: &[&'a str]) -> Result<Self, String> {
        let mut flags: Vec<(&'static str, &'a str)> = Vec::new();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let known = match (name.strip_prefix("--"), name.strip_prefix('-')) {
                (Some(long), _) => FLAGS.iter().find(|(known, _)| *known == long),
                (None, Some(short)) => FLAGS.iter().find(|(_, known)| *known == short),
                (None, None) => return Err(format!("found '{word}', expected a flag")),
            };
            let Some(&(name, _)) = known else {
                let hint = Hint::new(name.trim_start_matches('-'), FLAGS.iter().map(|(long, _)| *long));
                return Err(format!("found '{name}', expected a flag of MIOpenDriver's conv{hint}"));
            };
            let Some(value) = inline.or_else(|| words.next().copied()) else {
                return Err(format!("--{name}: found nothing, expected a value"));
            };
            match flags.iter().find(|(given, _)| *given == name) {
                Some((_, before)) if *before != value => {
                    return Err(format!("--{name}: found '{value}', expected '{before}' as before"));
                }
                Some(_) => {}
                None => flags.push((name, value)),
            }
        }
        Ok(Self(flags))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str, default: Option<i64>) -> Result<i64, String> {
        match (self.text(name), default) {
            (Some(text), _) => {
                text.parse().map_err(|_| format!("--{name}: found '{text}', expected a whole number"))
            }
            (None, Some(default)) => Ok(default),
            (None, None) => Err(format!("--{name}: found nothing, expected a whole number")),
        }
    }
}

fn read_line(line: &str, direction: Direction) -> Result<Problem, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = |word: &&str| {
        let word = word.rsplit('/').next().unwrap_or(word);
        word.starts_with("conv") && dtype(word).is_ok()
    };
    let driver = words.iter().position(|word| word.ends_with("MIOpenDriver"));
    let at = match (words.iter().position(named), driver) {
        (Some(at), _) => at,
        (None, Some(driver)) => {
            let word = words.get(driver + 1).copied().unwrap_or("nothing");
            return Err(format!(
                "found '{word}', expected conv, convfp16, convbfp16, convint8, convfp8 or convbfp8"
            ));
        }
        (None, None) => return Err("no command of MIOpenDriver".to_owned()),
    };
    let flags = Flags::read(&words[at + 1..])?;
    for (name, accepted) in NEUTRAL {
        if let Some(found) = flags.text(name).filter(|found| !accepted.contains(found)) {
            return Err(format!("--{name}: found '{found}', expected {}", accepted[0]));
        }
    }
    let direction = match flags.number("forw", Some(0))? {
        0 => direction,
        1 => Direction::Forward,
        2 => Direction::BwdData,
        4 => Direction::BwdWeight,
        several @ 3..=7 => {
            let bit = match direction {
                Direction::Forward => 1,
                Direction::BwdData => 2,
                Direction::BwdWeight => 4,
            };
            if several & bit == 0 {
                return Err(format!("--forw: found {several}, which lacks the direction {direction}"));
            }
            direction
        }
        other => return Err(format!("--forw: found {other}, expected 0 to 7")),
    };
    let ndim = flags.number("spatial_dim", Some(2))?;
    if ndim != 2 && ndim != 3 {
        return Err(format!("--spatial_dim: found {ndim}, expected 2 or 3"));
    }
    let three_d = ndim == 3 || flags.text("in_d").is_some_and(|d| d != "1");
    if three_d && flags.text("spatial_dim").is_some_and(|dims| dims == "2") {
        return Err("--in_d: found a depth, expected 1 with --spatial_dim 2".to_owned());
    }
    if !three_d {
        let depths = [("fil_d", 1), ("conv_stride_d", 1), ("dilation_d", 1), ("pad_d", 0)];
        for (flag, neutral) in depths {
            let found = flags.number(flag, Some(neutral))?;
            if found != neutral {
                return Err(format!("--{flag}: found {found}, expected {neutral} without --spatial_dim 3"));
            }
        }
    }
    let axes = |names: [&str; 3], default: Option<i64>, neutral: i64| -> Result<[i64; 3], String> {
        let depth = if three_d { flags.number(names[0], default)? } else { neutral };
        Ok([depth, flags.number(names[1], default)?, flags.number(names[2], default)?])
    };
    let pad = axes(["pad_d", "pad_h", "pad_w"], Some(0), 0)?;
    let dtype = dtype(words[at].rsplit('/').next().unwrap_or(words[at]))?;
    let problem: Problem = ConvProblem {
        direction,
        ndim: if three_d { 3 } else { 2 },
        n: flags.number("batchsize", Some(100))?,
        c: flags.number("in_channels", Some(3))?,
        k: flags.number("out_channels", None)?,
        g: flags.number("group_count", Some(1))?,
        input: axes(["in_d", "in_h", "in_w"], Some(32), 1)?,
        filter: axes(["fil_d", "fil_h", "fil_w"], Some(3), 1)?,
        stride: axes(["conv_stride_d", "conv_stride_h", "conv_stride_w"], Some(1), 1)?,
        dilation: axes(["dilation_d", "dilation_h", "dilation_w"], Some(1), 1)?,
        pad_left: pad,
        pad_right: pad,
        split_k: 1,
        dtype_in: dtype,
        dtype_wei: dtype,
        dtype_out: dtype,
        layout: ConvLayout::Nhwgc,
        arch: None,
    }
    .into();
    problem.validate().map_err(|error| error.to_string())?;
    Ok(problem)
}

/// The type in a driver's command.
fn dtype(command: &str) -> Result<Dtype, String> {
    Ok(match command {
        "conv" => Dtype::Fp32,
        "convfp16" => Dtype::Fp16,
        "convbfp16" => Dtype::Bf16,
        "convint8" => Dtype::Int8,
        "convfp8" => Dtype::Fp8,
        "convbfp8" => Dtype::Bf8,
        other => return Err(format!("found '{other}', expected a command of convolutions")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: &str) -> Result<ConvProblem, String> {
        match read_line(line, Direction::BwdData)? {
            Problem::Conv(problem) => Ok(problem),
            _ => panic!(),
        }
    }

    #[test]
    fn lines_in_long_and_short_form_agree() {
        let long = "./bin/MIOpenDriver convbfp16 --batchsize 16 --in_channels 256 --in_h 28 --in_w 30 \
                    --out_channels 128 --fil_h 3 --fil_w 5 --pad_h 1 --pad_w 2 --conv_stride_h 2 \
                    --conv_stride_w 1 --dilation_h 2 --dilation_w 1 --group_count 4 --forw 1 --mode conv \
                    --in_layout NHWC -t 1";
        let short = "12:01 MIOpenDriver convbfp16 -n 16 -c 256 -H 28 -W 30 -k 128 -y 3 -x 5 -p 1 -q 2 -u 2 \
                     -v 1 -l 2 -j 1 -g 4 -F 1 -m conv";
        let expected = ConvProblem {
            n: 16,
            c: 256,
            k: 128,
            g: 4,
            stride: [1, 2, 1],
            dilation: [1, 2, 1],
            ..ConvProblem::new_2d([28, 30], [3, 5])
        }
        .padded([1, 2]);
        assert_eq!(problem(long), Ok(expected));
        assert_eq!(problem(short), Ok(expected));
    }

    #[test]
    fn three_dimensions_and_directions() {
        let line = "MIOpenDriver conv --spatial_dim 3 -n 1 -c 64 -k 64 --in_d 8 -H 16 -W 16 \
                    --fil_d 3 -y 3 -x 3 --pad_d 1 -p 1 -q 1 --conv_stride_d=2 -F 4";
        let read = problem(line).unwrap();
        assert_eq!((read.ndim, read.direction, read.dtype_in), (3, Direction::BwdWeight, Dtype::Fp32));
        assert_eq!((read.input, read.filter, read.stride), ([8, 16, 16], [3, 3, 3], [2, 1, 1]));
        assert_eq!(problem("conv -k 64 -c 64").unwrap().direction, Direction::BwdData);
    }

    #[test]
    fn lines_that_are_no_convolution_say_why() {
        let text = "# list\n\nMIOpenDriver bnorm -n 1\nhello\nMIOpenDriver conv -k many\n\
                    MIOpenDriver conv -c 64 -k 64 -g 3\n\
                    MIOpenDriver conv -c 64 -k 64 -m trans\nconvfp16 -k\nconv -c 64 -k 64\n";
        let (problems, skipped) = import(text, Direction::Forward);
        assert_eq!(problems.len(), 1);
        let told: Vec<(u64, &str)> = skipped.iter().map(|s| (s.line, s.reason.as_str())).collect();
        assert_eq!(told.len(), 6);
        assert!(told[0].0 == 3 && told[0].1.starts_with("found 'bnorm', expected conv, convfp16"));
        assert_eq!(told[1], (4, "no command of MIOpenDriver"));
        assert_eq!(told[2], (5, "--out_channels: found 'many', expected a whole number"));
        assert_eq!(told[3], (6, "C: found 64, expected a multiple of G = 3"));
        assert_eq!(told[4], (7, "--mode: found 'trans', expected conv"));
        assert_eq!(told[5], (8, "--out_channels: found nothing, expected a value"));
    }

    #[test]
    fn flags_are_known_and_agree() {
        let line = "MIOpenDriver conv -n 1 -c 64 -k 64 -H 16 -W 16";
        let plain = problem(line).unwrap();
        for more in [
            "-V 0 -t 1 -i 5 -S -1 -s 0 -w 1 -m conv -P 0 -b 1 -G 1 -r 0",
            "--verify 0 --time 1 --iter 5 --solution 0 --search 1 --wall 2 --mode conv --printconv 1",
            "--in_layout NHWC --fil_layout NHWC --out_layout NHWC --pad_mode default -T -1 -Y 0 -F 0",
            "--in_h 16 -H 16 --batchsize 1",
        ] {
            assert_eq!(problem(&format!("{line} {more}")), Ok(plain), "{more}");
        }
        for (more, reason) in [
            ("--padh 1", "found '--padh', expected a flag of MIOpenDriver's conv; did you mean 'pad_h'?"),
            ("-Q 1", "found '-Q', expected a flag of MIOpenDriver's conv"),
            ("-n 2", "--batchsize: found '2', expected '1' as before"),
            ("-p 1 --pad_h 2", "--pad_h: found '2', expected '1' as before"),
            ("-r 1", "--pad_val: found '1', expected 0"),
            ("-z same", "--pad_mode: found 'same', expected conv"),
            ("--tensor_vect 1", "--tensor_vect: found '1', expected 0"),
            ("-R fp8", "--wei_cast_type: found 'fp8', expected -1"),
            ("-_ 1", "--spatial_dim: found 1, expected 2 or 3"),
            ("-F 8", "--forw: found 8, expected 0 to 7"),
            ("--pad_d 1", "--pad_d: found 1, expected 0 without --spatial_dim 3"),
            ("-_ 2 --fil_d 3", "--fil_d: found 3, expected 1 without --spatial_dim 3"),
            ("-_ 2 --in_d 8", "--in_d: found a depth, expected 1 with --spatial_dim 2"),
        ] {
            assert_eq!(problem(&format!("{line} {more}")), Err(reason.to_owned()));
        }
    }

    #[test]
    fn a_line_of_several_directions_has_the_one_asked_for() {
        let line = |forw: &str| format!("conv -c 64 -k 64 {forw}\n");
        let text: String = ["", "-F 0", "-F 1", "-F 3", "-F 5", "-F 6", "-F 7"].map(line).concat();
        let (problems, skipped) = import(&text, Direction::BwdWeight);
        let directions: Vec<&str> = problems
            .iter()
            .map(|problem| match problem {
                Problem::Conv(problem) => problem.direction.as_str(),
                _ => panic!(),
            })
            .collect();
        let asked = "bwd_weight";
        assert_eq!(directions, [asked, asked, "forward", asked, asked, asked]);
        let reason = "--forw: found 3, which lacks the direction bwd_weight".to_owned();
        assert_eq!(skipped, [Skipped { line: 4, reason }]);
    }
}
