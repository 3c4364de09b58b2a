//! All formats of problem files, and what is wrong with them.

use super::*;
use crate::problem::{ConvProblem, GemmProblem};
use crate::vocab::Direction;

fn problems() -> [Problem; 3] {
    let conv = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
    let arch = "gfx950".parse().ok();
    [conv.into(), ConvProblem { arch, ..conv.padded([1, 1]) }.into(), GemmProblem::new(1, 2, 3).into()]
}

fn read(op: Op, text: &str) -> Result<ProblemList, String> {
    ProblemList::parse("l", text.as_bytes(), op, &ProblemDefaults::new(op)).map_err(|error| error.to_string())
}

fn conv(text: &str) -> Result<ProblemList, String> {
    read(Op::Conv, text)
}

#[test]
fn lines_read_back() {
    let lines: Vec<String> = problems().iter().map(problem_line).collect();
    let text = lines.join("\r\n") + "\n\n# end";
    for (op, expected) in [(Op::Conv, &problems()[..2]), (Op::Gemm, &problems()[2..])] {
        let list = read(op, &text).unwrap();
        assert_eq!(list.problems.iter().map(|listed| listed.problem).collect::<Vec<_>>(), expected);
        assert_eq!((list.passed.others, list.passed.torn), (3 - expected.len() as u64, 0));
    }
}

/// However a line is cut off, it is not taken for another problem.
#[test]
fn no_beginning_of_a_line_is_a_problem() {
    for problem in problems() {
        let whole = problem_line(&problem);
        for end in 0..whole.len() {
            assert!(
                !matches!(ProblemLine::parse(&whole[..end]), Ok(ProblemLine::Problem(_)) | Err(_)),
                "{}",
                &whole[..end]
            );
        }
    }
}

#[test]
fn repeated_problems_count_once_and_mistakes_are_named() {
    let list = read(Op::Gemm, "op=gemm_universal m=1 N=2 K=3\nop=gemm_universal,M=1,N=2,K=3").unwrap();
    assert_eq!(list.problems.len(), 1);
    let list = read(Op::Gemm, "op=gemm_universal,M=1,N=2,K=3\nop=gemm,M=1,N=2,K=3\nM=4,N=4,K=4\n").unwrap();
    assert_eq!((list.problems.len(), list.passed.torn, list.passed.first_torn), (1, 2, 2));
    for (text, message) in [
        ("# a\nop=matmul", "l: line 2: unknown operation 'matmul', expected one of: gemm_universal"),
        ("op=gemm_universal,M=1,K=1", "l: line 1: N: found nothing, expected a whole number"),
        ("op=gemm_universal,M=1,N=1,K=1,X=2", "l: line 1: gemm_universal problems have no field 'X'"),
        (
            "# a\nop=gemm,M=1",
            "l: found no gemm_universal problem, expected at least one; 0 of another operation and 1",
        ),
    ] {
        let error = read(Op::Gemm, text).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

/// A process is killed within its write, and another one, which saw nothing of it yet, writes behind it.
#[test]
fn a_line_behind_the_beginning_of_another_is_read() {
    let fmha = Problem::parse(
        Op::Fmha,
        "seqlen_q=5,nhead_q=2,hdim_q=64,page_size=16,api_family=fwd_pagedkv",
        &ProblemDefaults::new(Op::Fmha),
    );
    let all: Vec<Problem> = problems().into_iter().chain([fmha.unwrap()]).collect();
    for (torn, whole) in all.iter().flat_map(|torn| all.iter().map(move |whole| (torn, whole))) {
        let (torn, end) = (problem_line(torn), problem_line(whole));
        for cut in 1..=torn.len() {
            let text = format!("{}{end}\n", &torn[..cut]);
            let list = read(whole.op(), &text).unwrap_or_else(|error| panic!("{text}{error}"));
            assert_eq!(list.problems.iter().map(|one| one.problem).collect::<Vec<_>>(), [*whole], "{text}");
        }
    }
    let text = format!("{}{}\n", &problem_line(&all[0])[..8], problem_line(&all[1]));
    let list = conv(&text).unwrap();
    assert_eq!((list.passed.torn, list.passed.first_torn), (1, 1));
    // What somebody wrote is not repaired.
    let error = read(Op::Gemm, "X=1,M=1,N=2,K=3,op=gemm_universal").unwrap_err();
    assert!(error.contains("no field 'X'"), "{error}");
    let error = read(Op::Gemm, "M=7,X=1,M=1,N=2,K=3,op=gemm_universal").unwrap_err();
    assert!(error.starts_with("l: line 1: "), "{error}");
}

#[test]
fn a_list_need_not_say_its_operation() {
    let text = "# layers\nC=64,K=64,Hi=8,Wi=8,Y=1,X=1\nM=1,N=2,K=3\nC=64,K=6";
    let list = conv(text).unwrap();
    assert_eq!((list.problems.len(), list.passed.others, list.passed.first_torn), (1, 1, 4));
    // The first line was truncated.
    let list = conv("C=64,K=6\nC=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv").unwrap();
    assert_eq!((list.problems.len(), list.passed.torn, list.passed.first_torn), (1, 1, 1));
    let error = conv("C=64,K=64,Hi=8,Wi=8,Y=1,X=1\nC=64\n").unwrap_err();
    assert!(
        error.starts_with("l: line 2: K, Hi, Wi, Y, X: found nothing, expected a value for each"),
        "{error}"
    );
    let defaults = ProblemDefaults { direction: Direction::BwdData, ..ProblemDefaults::new(Op::Conv) };
    for text in ["C=64,K=64,Hi=8,Wi=8,Y=1,X=1", "C=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv"] {
        let list = ProblemList::parse("l", text.as_bytes(), Op::Conv, &defaults).unwrap();
        let Problem::Conv(problem) = list.problems[0].problem else { panic!() };
        assert_eq!(problem.direction, Direction::BwdData);
        assert_eq!(list.problems[0].stated, StatedFields::default());
    }
}

#[test]
fn tables_are_read_by_their_columns() {
    let text = "\u{feff}# shapes\n\nproblem_idx,C,K,Hi,Wi,Y,X,variant,note\n\
                7,64,64,8,8,1,1,bwd_data,x\n\n\
                7,64,64,8,8,1,1,bwd_data,\n9,64,64,8,8,3,3,forward,y\n";
    let list = conv(text).unwrap();
    let numbers: Vec<_> = list.problems.iter().map(|listed| listed.number.unwrap()).collect();
    assert_eq!((numbers, &list.passed.unknown[..]), (vec![7, 7, 9], &["note".to_owned()][..]));
    let Problem::Conv(problem) = list.problems[0].problem else { panic!() };
    assert_eq!((problem.direction, list.problems[0].stated.direction), (Direction::BwdData, true));
    assert_eq!(list.passed.notes(), ["ignored columns, which are not fields of a problem: note"]);
    let measured = "kernel,C,K,Hi,Wi,Y,X\na,64,64,8,8,1,1\nb,64,64,8,8,1,1\n";
    assert_eq!(conv(measured).unwrap().problems.len(), 1, "a row a kernel");
    let both = "op,m,n,k,C,K,Hi,Wi,Y,X\ngemm_universal,1,2,3,,,,,,\ngrouped_conv,,,,4,4,5,5,1,1\n";
    assert_eq!((conv(both).unwrap().passed.others, read(Op::Gemm, both).unwrap().problems.len()), (1, 1));
    let quoted = "\"C\",K,Hi,Wi,Y,X,note\n64,64,8,8,1,1,\"a,\n\"\"b\"\"\"\n64,64,8,8,1,\"one\",\n";
    assert_eq!(conv(quoted).unwrap_err(), "l: line 4: X: found 'one', expected a whole number");
}

/// The part of the name on the first line was taken for a misspelt column, or for the last one
/// (61a85d2a).
#[test]
fn names_of_columns_may_span_lines() {
    let text = "# mine\n\"my\nnote\",N,C,K,Hi,Wi,Y,X,\"other\n\"\nx,1,8,8,4,4,1,1,\n\n,1,8,8,4,4,1,one,\n";
    let row = text.rfind("\n,").unwrap();
    let list = conv(&text[..row]).unwrap();
    assert_eq!(
        (list.problems.len(), &list.passed.unknown[..]),
        (1, &["my\nnote".to_owned(), "other".to_owned()][..])
    );
    assert_eq!(conv(text).unwrap_err(), "l: line 7: X: found 'one', expected a whole number");
    let open = "N,C,K,Hi,Wi,Y,X,\"note\n1,8,8,4,4,1,1,x\n";
    let expected = "l: line 1: found a quoted cell without an end, expected '\"' behind it";
    assert_eq!(conv(open).unwrap_err(), expected);
}

#[test]
fn indented_comments_are_no_rows() {
    let text = "note,N,C,K,Hi,Wi,Y,X\nx,1,8,8,4,4,1,1\n  # off,2,8,8,4,4,1,1\n";
    assert_eq!(conv(text).unwrap().problems.len(), 1);
}

/// `split_k` of `N/A` was "found 'N/A', expected a whole number", as if it were no empty word.
#[test]
fn empty_words_are_absent_cells() {
    let listed = |cell: &str| {
        conv(&format!("op,N,C,K,Hi,Wi,Y,X,split_k,dtype\n{cell},1,8,8,4,4,1,1,{cell},{cell}\n")).unwrap()
    };
    let absent = listed("").problems;
    assert!(!absent[0].stated.dtype);
    for word in ["N/A", "nan", "NaN", "null", "None", "NULL"] {
        assert_eq!(listed(word).problems, absent, "{word}");
    }
}

#[test]
fn a_header_in_the_middle_of_a_joined_table_is_no_row() {
    let text = "N,C,K,Hi,Wi,Y,X\n1,8,8,4,4,1,1\nN,C,K,Hi,Wi,Y,X\n2,8,8,4,4,1,1\n";
    assert_eq!(conv(text).unwrap().problems.len(), 2);
}

#[test]
fn tables_without_a_problem_are_errors() {
    for (text, message) in [
        ("", "l: found no grouped_conv problem, expected at least one"),
        ("# only\n\n", "l: found no grouped_conv problem, expected at least one"),
        ("C,K,Hi,Wi,Y,X\n", "l: found no grouped_conv problem, expected at least one"),
        ("\nC;K;Hi\n1;2;3\n", "l: line 2: the columns are separated by ';', expected ','"),
        (
            "a,b\n1,2\n",
            "l: line 1: no column 'C', expected C, K, Hi, Wi, Y, X for a grouped_conv problem; \
             the columns are a, b",
        ),
        ("PAR1", "l: found a Parquet file, expected UTF-8 text"),
        (
            "C,K,Hi,Wi,Y,X\r64,64,8,8,1,1\r",
            "l: line 1: found a carriage return, expected lines that end with a line feed",
        ),
        ("C,K,Hi,Wi,Y,X\n64,64,8,8,1\n", "l: line 2: found 5 cells, expected 6 as in the header"),
        ("C,K,Hi,Wi,Y,X\n# x\n64,64,8,8,1,\n", "l: line 3: X: found nothing, expected a whole number"),
        (
            "problem_idx,C,K,Hi,Wi,Y,X\n7,64,64,8,8,1,1\n7,64,64,8,8,3,3\n",
            "l: line 3: problem_idx 7 denotes two different problems",
        ),
        (
            "problem_idx,C,K,Hi,Wi,Y,X\n-1,64,64,8,8,1,1\n",
            "l: line 2: problem_idx: found '-1', expected a whole number, 0 or more",
        ),
    ] {
        let error = conv(text).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

/// A table of AITER's was refused: `gfx`, `splitK` and `bw` were no columns (86d4a740).
#[test]
fn tables_of_aiters_are_lists() {
    let table = |row: &str| read(Op::Gemm, &format!("gfx,M,N,K,libtype,splitK,us,kernelName,bw\n{row}\n"));
    let list = table("gfx942,1,64,128,asm,2,inf,_ZN5aiter,0").unwrap();
    let Problem::Gemm(problem) = list.problems[0].problem else { panic!() };
    assert_eq!((problem.split_k, problem.arch, list.passed.notes().len()), (4, "gfx942".parse().ok(), 0));
    for (row, message) in [
        ("gfx942,1,64,128,ck,31,1,,0", "l: line 2: splitK: found 31, expected a number from 0 to 30"),
        ("MI300X,1,64,128,ck,0,1,,0", "l: line 2: gfx: found 'MI300X', expected one of gfx"),
    ] {
        let error = table(row).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn objects_are_rows_like_those_of_a_table() {
    let text = r#"{"problem_idx": 7.0, "C": 8, "K": 8, "Hi": 9, "Wi": 9, "Y": 3, "X": 3, "pad": 1, "note": "N/A"}
        {"M": 1, "N": 2, "K": 3}"#;
    let list = conv(text).unwrap();
    assert_eq!((list.problems.len(), list.problems[0].number, list.passed.others), (1, Some(7), 1));
    let Problem::Conv(problem) = list.problems[0].problem else { panic!() };
    assert_eq!((problem.pad_left, &list.passed.unknown[..]), ([0, 1, 1], &["note".to_owned()][..]));
    let error = conv(&text.replace("pad", "padh")).unwrap_err();
    assert_eq!(error, "l: line 1: unknown column 'padh', expected pad_h");
}
