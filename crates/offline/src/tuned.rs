//! Tuning tables of other projects: their problems, and the time of the best kernel that they found.
//!
//! Most of their kernels are not ours, but their times are an upper bound to compare with. What a table omits
//! about its problems comes from the caller, as fields of a problem:
//! `dtype=fp8,quant=rowcolquant,arch=gfx942`.

mod aiter;
mod hipblaslt;
mod miopen;
mod roof;

use std::collections::HashMap;
use std::io::{self, Write};

use ck_select_types::problem::{Problem, ProblemDefaults, problem_line};
use ck_select_types::vocab::Op;

use crate::measurements::DataError;

pub use roof::{Roof, RoofFigures};

/// A problem with the best time in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The problem.
    pub problem: Problem,
    /// Compute units of the GPU, if the table says them: one architecture is sold with several numbers.
    pub num_cus: Option<u32>,
    /// The time in milliseconds.
    pub milliseconds: f64,
    /// The kernel's name in the table.
    pub by: String,
}

/// A parsed table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The project that it comes from.
    pub kind: &'static str,
    /// Its problems in its order, each once.
    pub tuned: Vec<Tuned>,
    /// Lines, counted from 1, that are not supported problems, and why.
    pub left_out: Vec<(usize, String)>,
    /// Its columns that are not known and do not resemble a known one.
    pub unknown: Vec<String>,
}

/// An entry of a table: a problem as text, and the time and the kernel.
struct Said {
    op: Op,
    problem: String,
    num_cus: Option<u32>,
    milliseconds: f64,
    by: String,
}

/// The entries of a table with their lines.
type Places = Vec<(usize, Result<Said, String>)>;

/// Reads a table: AITER's tuned CSV of GEMMs, hipBLASLt's logic of exact solutions (YAML) or `MIOpen`'s
/// find-db as text, distinguished by its beginning. `fields` are added to every problem.
pub fn read(file: &str, text: &str, fields: &str) -> Result<Table, DataError> {
    let wrong = |line: usize, reason: String| DataError::format(file, format_args!("line {line}: {reason}"));
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().next().unwrap_or_default();
    let mut unknown = Vec::new();
    let (kind, places) = if first.starts_with("- ") || first.starts_with("MinimumRequiredVersion:") {
        ("hipBLASLt", hipblaslt::places(text).map_err(|(line, reason)| wrong(line, reason))?)
    } else if aiter::is_header(first) {
        let (places, others) = aiter::places(text, fields).map_err(|reason| wrong(1, reason))?;
        unknown = others;
        ("AITER", places)
    } else if miopen::is_record(first) {
        ("MIOpen", miopen::places(text))
    } else {
        let expected = "a header with M,N,K,us (AITER), 'MinimumRequiredVersion: …', in a list or not (hipBLASLt), or \
                        '576-4-4-1x1-192-4-4-8-1x1-2x2-3x3-0-NCHW-FP32-F=…' (MIOpen)";
        let found: String = first.chars().take(60).collect();
        return Err(wrong(1, format!("found '{found}', expected {expected}")));
    };
    let mut table = Table { kind, tuned: Vec::new(), left_out: Vec::new(), unknown };
    let mut known: HashMap<(Problem, Option<u32>), usize> = HashMap::new();
    for (line, said) in places {
        match said.and_then(|said| tuned(said, fields)) {
            Err(reason) => table.left_out.push((line, reason)),
            Ok(new) => match known.get(&(new.problem, new.num_cus)) {
                Some(&place) if table.tuned[place].milliseconds <= new.milliseconds => {}
                Some(&place) => table.tuned[place] = new,
                None => {
                    known.insert((new.problem, new.num_cus), table.tuned.len());
                    table.tuned.push(new);
                }
            },
        }
    }
    Ok(table)
}

fn tuned(said: Said, fields: &str) -> Result<Tuned, String> {
    let Said { op, problem, num_cus, milliseconds, by } = said;
    let text = if fields.is_empty() { problem } else { format!("{problem},{fields}") };
    let problem = Problem::parse(op, &text, &ProblemDefaults::of(op)).map_err(|error| error.to_string())?;
    if !(milliseconds > 0.0 && milliseconds.is_finite()) {
        return Err(format!("time: found {milliseconds} ms, expected more than 0"));
    }
    problem
        .check_figures(problem.flops() / milliseconds / 1e9, milliseconds)
        .map_err(|error| error.to_string())?;
    Ok(Tuned { problem, num_cus, milliseconds, by })
}

/// Writes the problems as a list that every command can read, each after a comment with its time.
pub fn write(tuned: &[Tuned], out: &mut dyn Write) -> io::Result<()> {
    for Tuned { problem, num_cus, milliseconds, by } in tuned {
        let on = num_cus.map_or_else(String::new, |units| format!(" on {units} compute units"));
        writeln!(out, "# {milliseconds} ms{on}: {by}\n{}", problem_line(problem))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(table: &Table) -> Vec<String> {
        let mut text = Vec::new();
        write(&table.tuned, &mut text).unwrap();
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn tables_of_aiter_say_the_type_or_are_told() {
        let header = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,\
                      kernelName,err_ratio,tflops,bw";
        let text = format!(
            "{header}\n\
             gfx950,256,64,256,5120,False,torch.bfloat16,torch.float32,False,False,asm,5,13,7.9191,fast,0.0,\
             21.19,417.92\n\
             gfx950,256,64,256,5120,False,torch.bfloat16,torch.float32,False,False,asm,5,13,8.5,slow,0.0,\
             21.19,417.92\n\
             gfx950,256,64,256,5120,False,torch.bfloat16,torch.bfloat16,False,True,asm,5,13,7.5,shuffled,0.0,\
             21.19,417.92\n\
             gfx950,256,64,256,5120,True,torch.bfloat16,torch.bfloat16,False,False,asm,5,13,7.5,biased,0.0,\
             21.19,417.92\n\
             gfx950,256,64,256,5120,False,torch.complex,torch.bfloat16,False,False,asm,5,13,7.5,odd,0.0,\
             21.19,417.92\n\
             gfx950,256,64,256\n"
        );
        let table = read("a.csv", &text, "").unwrap();
        assert_eq!(table.kind, "AITER");
        let expected = [
            "# 0.0079191 ms on 256 compute units: fast",
            "M=64,N=256,K=5120,split_k=1,dtype_a=bf16,dtype_b=bf16,dtype_c=fp32,layout=rcr,arch=gfx950,\
             op=gemm_universal",
            "# 0.0075 ms on 256 compute units: shuffled",
            "M=64,N=256,K=5120,split_k=1,dtype_a=bf16,dtype_b=bf16,dtype_c=bf16,layout=rcr,preshuffle=true,\
             arch=gfx950,op=gemm_universal",
        ];
        assert_eq!(lines(&table), expected);
        let reasons: Vec<(usize, &str)> =
            table.left_out.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(reasons[0], (5, "bias: found True, which no problem has"));
        assert!(reasons[1].0 == 6 && reasons[1].1.starts_with("dtype: found torch.complex, expected torch."));
        assert_eq!(reasons[2], (7, "found 4 cells, expected 18 as in the header"));
        let scaled = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n\
                      304,1,1280,8192,34,0,20.5,name,1,1,0\n";
        let error = read("b.csv", scaled, "dtype=fp8").unwrap_err().to_string();
        assert!(
            error.starts_with("b.csv: line 1: no column 'dtype'") && error.contains("quant=rowcolquant"),
            "{error}"
        );
        let told = read("b.csv", scaled, "dtype=fp8,quant=rowcolquant,arch=gfx942").unwrap();
        assert_eq!(lines(&told)[0], "# 0.0205 ms on 304 compute units: name");
        assert!(lines(&told)[1].contains("quant=rowcolquant,arch=gfx942,op="), "{:?}", lines(&told));
    }

    #[test]
    fn what_names_and_compute_units_say_counts() {
        let header = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio";
        let row = |units: u32, us: f64, name: &str| format!("{units},16,1536,7168,8,0,{us},{name},1,1,0.0");
        let text = format!(
            "{header}\n{}\n{}\n{}\n{}\n",
            row(304, 19.3, "a8w8_rowwise_256x16x64x256"),
            row(80, 40.5, "a8w8_rowwise_256x16x64x256"),
            row(304, 9.5, "a8w8_blockscale_1x128x128_256x16x64x256"),
            row(304, 12.5, "a8w8_bpreshuffle_cktile_0x0x8x4"),
        );
        let table = read("a.csv", &text, "dtype=fp8,quant=rowcolquant,arch=gfx942").unwrap();
        let times: Vec<_> = table.tuned.iter().map(|tuned| (tuned.num_cus, tuned.milliseconds)).collect();
        assert_eq!(times, [(Some(304), 0.0193), (Some(80), 0.0405), (Some(304), 0.0125)]);
        assert!(table.tuned[2].problem.to_string().contains("preshuffle=true"), "{table:?}");
        let reason = "kernelName: found a8w8_blockscale_1x128x128_256x16x64x256, which is of quant=abquant, \
                      expected rowcolquant as the fields say";
        assert_eq!(table.left_out, [(4, reason.to_owned())]);
        let other = read("a.csv", &text, "dtype=fp8,quant=abquant,group_b=1x128x128,arch=gfx942").unwrap();
        assert_eq!((other.tuned.len(), other.left_out.len()), (2, 2), "{other:?}");
        let mut roof = Roof::default();
        let list = lines(&table).join("\n");
        roof.add("roof.txt", &list).unwrap();
        let best = |units| roof.best(&table.tuned[0].problem, units);
        assert_eq!([best(None), best(Some(304)), best(Some(80))], [Some(0.0193), Some(0.0193), Some(0.0405)]);
        assert_eq!(best(Some(228)), None);
    }

    #[test]
    fn a_table_of_aiter_is_read_as_it_is_meant() {
        let header = "gfx,M,N,K,dtype,bias,bpreshuffle,us,kernelName";
        let table = |header: &str, row: &str| read("a.csv", &format!("{header}\n{row}\n"), "");
        let row = |flags: &str| format!("gfx942,64,256,512,torch.float16,{flags},7.9,name");
        for (word, shuffled) in [
            ("true", true),
            ("1", true),
            ("TRUE", true),
            ("True", true),
            ("", false),
            ("false", false),
            ("0", false),
            ("FALSE", false),
        ] {
            let read = table(header, &row(&format!("False,{word}"))).unwrap();
            let problem = read.tuned[0].problem.to_string();
            assert_eq!(problem.contains("preshuffle=true"), shuffled, "{problem}");
            let biased = table(header, &row(&format!("{word},0"))).unwrap();
            assert_eq!(biased.left_out.len(), usize::from(shuffled), "{word}");
        }
        let odd = table(header, &row("0,yes")).unwrap();
        assert_eq!(odd.left_out, [(2, "bpreshuffle: found 'yes', expected true or false".to_owned())]);
        let untyped = table(header, &row("0,0").replace("torch.float16", "")).unwrap();
        assert!(untyped.left_out[0].1.starts_with("dtype: found nothing"), "{untyped:?}");
        let marked = table(&format!("\u{feff}{header}"), &row("0,0")).unwrap();
        assert!(marked.tuned[0].problem.to_string().ends_with(",arch=gfx942"), "{marked:?}");
        for (name, message) in [
            ("gfx", "line 1: column 'gfx' appears twice"),
            ("Bias", "line 1: unknown column 'Bias', expected bias"),
            ("scaleAb", "line 1: unknown column 'scaleAb', expected scaleAB"),
            ("out_dtype", "line 1: unknown column 'out_dtype', expected outdtype"),
        ] {
            let error = table(&format!("{header},{name}"), &row("0,0")).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
        let noted = table(&format!("{header},remark"), &format!("{},x", row("0,0"))).unwrap();
        assert_eq!((noted.tuned.len(), noted.unknown), (1, vec!["remark".to_owned()]));
        let batched = table(&format!("B,{header}"), &format!("16,{}", row("0,0"))).unwrap();
        assert!(batched.tuned[0].problem.to_string().contains(",batch=16"), "{batched:?}");
    }

    #[test]
    fn the_type_of_the_result_is_not_that_of_the_operands() {
        let text = "M,N,K,us,kernelName\n1,1280,8192,20.5,name\n";
        for fields in ["quant=rowcolquant,dtype_c=fp16", "dtype=fp8,group_a=quant=1"] {
            let error = read("a.csv", text, fields).unwrap_err().to_string();
            assert!(error.contains("no column 'dtype'"), "{error}");
        }
        for key in ["dtype", "dtype_a"] {
            let read = read("a.csv", text, &format!("quant=rowcolquant,{key}=fp8")).unwrap();
            assert!(read.tuned[0].problem.to_string().contains("dtype_a=fp8"), "{read:?}");
        }
    }

    #[test]
    fn records_of_miopen_are_convolutions_of_three_directions() {
        let text = "576-4-5-1x3-192-4-5-8-0x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F=SolverA:0.5,0,\
                    miopenConvolutionFwdAlgoDirect;SolverB:0.25,64,miopenConvolutionFwdAlgoGEMM\n\
                    160-698-698-5x5-64-700-700-348-1x1-1x1-1x1-0-NCHW-FP32-B_g4=algo:SolverC,9.5,0,algo,\
                    not used\n\
                    8-6-16-16-3x3x3-4-8-18-18-2-0x0x0-1x1x1-1x1x1-0-NCDHW-BF16-W=S:1,0,a\n\
                    1-4-4-1x1-2-4-4-8-0x0-1x1-1x1-0-NCHW-FP16FP16FP32-F=S:1,0,a\n\
                    1-4-4-1x1-2-9-4-8-0x0-1x1-1x1-0-NCHW-FP16-F=S:1,0,a\n\
                    1-4-4-1x1-2-4-4-8-0x0-1x1-1x1-0-NCHW-FP16-F=S\n";
        let table = read("x.fdb.txt", text, "arch=gfx942").unwrap();
        let found = lines(&table);
        assert_eq!(
            found.iter().step_by(2).collect::<Vec<_>>(),
            ["# 0.25 ms: SolverB", "# 9.5 ms: SolverC", "# 1 ms: S"]
        );
        let problems: Vec<_> = table
            .tuned
            .iter()
            .map(|tuned| match tuned.problem {
                Problem::Conv(p) => {
                    (p.direction.as_str(), p.ndim, [p.n, p.c, p.k, p.g], p.input, p.filter, p.layout.as_str())
                }
                _ => panic!(),
            })
            .collect();
        assert_eq!(
            problems,
            [
                ("forward", 2, [8, 576, 192, 1], [1, 4, 5], [1, 1, 3], "nhwgc"),
                ("bwd_data", 2, [348, 64, 160, 4], [1, 700, 700], [1, 5, 5], "ngchw"),
                ("bwd_weight", 3, [2, 4, 8, 1], [8, 18, 18], [3, 3, 3], "ngcdhw"),
            ]
        );
        let reasons: Vec<(usize, &str)> =
            table.left_out.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert!(reasons[0].0 == 4 && reasons[0].1.starts_with("type: found FP16FP16FP32"), "{reasons:?}");
        assert_eq!(reasons[1], (5, "output: found 9x4, expected 4x4 by input, filter, strides and pads"));
        assert_eq!(reasons[2], (6, "no solver with a time"));
    }

    #[test]
    fn exact_solutions_of_hipblaslt_are_gemms_in_rows() {
        let file = |transpose: [bool; 2], dtype: u32, last: &str| {
            let [a, b] = transpose;
            format!(
                "- {{MinimumRequiredVersion: 5.0.0}}\n- gfx950\n- {{Architecture: gfx950, CUCount: 256}}\n\
                 - [Device 75a0]\n\
                 - Activation: false\n  DataTypeA: {dtype}\n  DataTypeB: {dtype}\n  DestDataType: {dtype}\n  \
                 TransposeA: {a}\n  TransposeB: {b}\n\
                 - - BaseName: one\n    SolutionIndex: 0\n- [2, 3, 0, 1]\n- - - [8, 2048, 1, 15360]\n    \
                 - [0, 31474.0]\n\
                 \x20 - - [16, 32, 4, 512]\n    - [3, 0.0]\n  - - [16, 32, 4, 512]\n    - [7, 500.0]\n\
                 - null\n- null\n- DeviceEfficiency\n- {last}\n"
            )
        };
        for (transpose, layout) in
            [([false, false], "rrr"), ([true, false], "rcr"), ([false, true], "crr"), ([true, true], "ccr")]
        {
            let table = read("l.yaml", &file(transpose, 7, "Equality"), "").unwrap();
            let [first, second] = &table.tuned[..] else { panic!("{table:?}") };
            let expected = format!(
                "M=2048,N=8,K=15360,split_k=1,dtype_a=bf16,dtype_b=bf16,dtype_c=bf16,layout={layout},\
                 arch=gfx950"
            );
            assert_eq!(first.problem.to_string(), expected);
            assert_eq!(first.milliseconds, 2.0 * 2048.0 * 8.0 * 15360.0 / 31474.0 / 1e6);
            assert_eq!(first.by, "solution 0");
            assert!(second.problem.to_string().contains(",batch=4"), "{}", second.problem);
            assert_eq!(table.left_out.len(), 1, "a speed of 0");
        }
        // Newer files are one mapping, and so are their figures.
        let newer = "MinimumRequiredVersion: 5.0.0\nScheduleName: aquavanjaram\nArchitectureName: gfx942\n\
            CUCount: 80\nDeviceNames: [Device 0049]\nProblemType:\n  DataTypeA: 7\n  DataTypeB: 7\n  \
            DestDataType: 7\n  TransposeA: true\n  TransposeB: false\nSolutions:\n- SolutionIndex: 0\n\
            IndexOrder: [2, 3, 0, 1]\nExactLogic:\n- - [8, 2048, 1, 15360, 8, 8, 8, 8]\n  - [0, 31474.0]\n\
            - - [6144, 1024, 1, 24576]\n  - [0, 247.57]\nRangeLogic: null\nLibraryType: Equality\n";
        let table = read("m.yaml", newer, "").unwrap();
        assert_eq!((table.tuned.len(), table.tuned[0].num_cus), (1, Some(80)));
        assert!(table.tuned[0].problem.to_string().ends_with("layout=rcr,arch=gfx942"), "{table:?}");
        let reason = "speed: found 247.57 GFLOPS, so slow that it must mean something else";
        assert_eq!(table.left_out, [(19, reason.to_owned())]);
        let grid = newer.replace("Equality", "GridBased");
        let error = read("m.yaml", &grid, "").unwrap_err().to_string();
        assert!(error.contains("line 21: found 'GridBased', expected Equality"), "{error}");
        let error = |text: String| read("l.yaml", &text, "").unwrap_err().to_string();
        assert!(
            error(file([true, false], 11, "Equality"))
                .contains("DataTypeA: found 11, expected one of: 0, 4, 7, 8")
        );
        assert!(error(file([true, false], 7, "GridBased")).contains("found 'GridBased', expected Equality"));
    }

    #[test]
    fn another_text_is_named() {
        let error = read("n.txt", "hello\n", "").unwrap_err().to_string();
        assert!(
            error.starts_with("n.txt: line 1: found 'hello', expected a header with M,N,K,us (AITER)"),
            "{error}"
        );
    }
}
