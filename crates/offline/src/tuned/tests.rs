//! Tables as other projects write them.

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
        "M=64,N=256,K=5120,split_k=1,dtype_a=bf16,dtype_b=bf16,dtype_c=bf16,layout=rcr,preshuffle=1,\
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
        assert_eq!(problem.contains("preshuffle=1"), shuffled, "{problem}");
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
    let error = |text: String| read("l.yaml", &text, "").unwrap_err().to_string();
    assert!(
        error(file([true, false], 11, "Equality"))
            .contains("DataTypeA: found 11, expected one of: 0, 4, 7, 8")
    );
    assert!(error(file([true, false], 7, "GridBased")).contains("found 'GridBased', expected Equality"));
}

#[test]
fn devices_with_other_numbers_of_compute_units_are_kept_apart() {
    let text = "gfx,cu_num,M,N,K,q_dtype_w,us,kernelName\n\
                gfx942,80,1,1280,8192,torch.int8,20.5,a8w8_rowwise_256x16x64x512_16x16_v3\n\
                gfx942,304,1,1280,8192,torch.int8,10.5,a8w8_rowwise_256x16x64x512_16x16_v3\n\
                gfx942,304,1,1280,8192,torch.int8,11.5,a8w8_rowwise_256x16x64x512_16x16_v3\n\
                gfx942,many,1,1280,8192,torch.int8,11.5,a8w8_rowwise_256x16x64x512_16x16_v3\n";
    let table = read("a8w8_tuned_gemm.csv", text, "").unwrap();
    let found: Vec<_> = table.tuned.iter().map(|tuned| (tuned.num_cus, tuned.milliseconds)).collect();
    assert_eq!(found, [(Some(80), 0.0205), (Some(304), 0.0105)]);
    let reason = "cu_num: found 'many', expected a number of compute units";
    assert_eq!(table.left_out, [(5, reason.to_owned())]);

    let mut roof = Roof::default();
    roof.add("roof.txt", &lines(&table).join("\n")).unwrap();
    let problem = table.tuned[0].problem;
    assert_eq!(roof.best(&problem, Some(80)), Best::Milliseconds(0.0205));
    assert_eq!(roof.best(&problem, Some(304)), Best::Milliseconds(0.0105));
    assert_eq!(roof.best(&problem, Some(228)), Best::OtherDevices);
    assert_eq!(roof.best(&problem, None), Best::OtherDevices, "which of the two is not known");
    // Lists without compute units.
    let mut old = Roof::default();
    old.add("old.txt", &format!("# 0.5 ms: NAME\n{}", problem_line(&problem))).unwrap();
    assert_eq!(old.best(&problem, Some(80)), Best::Milliseconds(0.5));
    for bad in ["# 0.5 ms on x compute units: NAME", "# 0.5 ms onwards: NAME", "# 0 ms: NAME"] {
        let error =
            Roof::default().add("bad.txt", &format!("{bad}\n{}", problem_line(&problem))).unwrap_err();
        assert!(error.to_string().contains("line 2: no time before the problem"), "{bad}: {error}");
    }
}

/// Kernels' names as AITER's tables have them.
#[test]
fn names_in_tables_of_aiter_are_part_of_the_problem() {
    let group = "a8w8_blockscale_1x128x128_256x16x64x256_16x16_16x16_intrawave_v1";
    let cktile = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x2_16x64x512_1x4x1_16x16x64_default";
    let table = |file: &str, columns: &str, row: &str, fields: &str| {
        let text = format!("cu_num,M,N,K,us,kernelName{columns}\n304,16,1536,7168,19.3,{row}\n");
        read(file, &text, fields).unwrap()
    };
    let problem = |table: &Table| table.tuned[0].problem.to_string();
    let reason = |table: &Table| table.left_out[0].1.clone();

    let scaled = problem(&table("t.csv", "", group, "dtype=fp8"));
    assert!(scaled.contains(",quant=abquant,group_a=1x1x128,group_b=1x128x128"), "{scaled}");
    let told = table("t.csv", "", group, "dtype=fp8,quant=rowcolquant");
    let expected = "kernelName: its scales are abquant by its name or the file's, expected rowcolquant as \
                    --fields says";
    assert_eq!(reason(&told), expected);
    let by_file = problem(&table("a8w8_blockscale_bpreshuffle_tuned_gemm.csv", "", "None", "dtype=fp8"));
    assert!(by_file.contains(",quant=abquant") && by_file.contains(",preshuffle=1"), "{by_file}");
    let rows = "a8w8_rowwise_256x16x64x512_16x16_v3";
    let other = table("a8w8_blockscale_tuned_gemm.csv", "", rows, "dtype=fp8");
    assert!(
        reason(&other).starts_with("kernelName: its scales are rowcolquant, expected abquant as the file")
    );

    let wide = table("t.csv", "", group, "dtype=fp16");
    assert!(reason(&wide).ends_with("8 bits by its name or the file's, fp16 has 16"), "{wide:?}");

    let shuffled = problem(&table("t.csv", "", cktile, "dtype=fp8,quant=rowcolquant"));
    assert!(shuffled.contains(",preshuffle=1") && shuffled.contains("quant=rowcolquant"), "{shuffled}");
    let denied = table("t.csv", ",bpreshuffle", &format!("{cktile},False"), "dtype=fp8,quant=rowcolquant");
    let expected = "bpreshuffle: found False, but the kernel's name or the file's says bpreshuffle";
    assert_eq!(reason(&denied), expected);

    let order = problem(&table("t.csv", ",layout", &format!("{group},rrr"), "dtype=fp8"));
    assert!(order.contains("layout=rrr"), "{order}");
    let odd = table("t.csv", ",layout", &format!("{group},xyz"), "dtype=fp8");
    assert!(reason(&odd).contains("xyz"), "{odd:?}");
}

#[test]
fn both_forms_of_hipblaslts_files_are_read() {
    let mapping = |logic: &str, count: &str| {
        format!(
            "MinimumRequiredVersion: 5.0.0\nScheduleName: aquavanjaram\nArchitectureName: gfx942\n\
             CUCount: {count}\nDeviceNames: [Device 0049, Device 0050]\nProblemType:\n  Activation: false\n  \
             DataTypeA: 7\n  DataTypeB: 7\n  DestDataType: 7\n  IndexAssignmentsA: [0, 3, 2]\n  \
             TransposeA: false\n  TransposeB: true\nDefaultSolution:\n  SFCWGM:\n  - [1, 1]\nSolutions:\n\
             - SolutionIndex: 0\n  MIBlock: [16, 16, 16, 1, 1, 1]\n  InternalSupportParams: {{A: 2,\n    \
             B: true}}\nIndexOrder: [2, 3, 0, 1]\n{logic}RangeLogic: null\nPerfMetric: DeviceEfficiency\n\
             LibraryType: Equality\n"
        )
    };
    let logic = "ExactLogic:\n- - [8, 2048, 1, 15360, 8, 8, 8,\n    15360]\n  - [0, 31474.0]\n\
                 - - [6144, 1024, 1, 24576]\n  - [1, 247.57]\n- - [64, 64, 1, 64]\n  - [2, 12.5]\n";
    let table = read("m.yaml", &mapping(logic, "null"), "").unwrap();
    let [first, small] = &table.tuned[..] else { panic!("{table:?}") };
    assert!(first.problem.to_string().starts_with("M=2048,N=8,K=15360,"), "{}", first.problem);
    assert!(first.problem.to_string().contains("layout=crr,arch=gfx942"), "{}", first.problem);
    assert_eq!((first.num_cus, small.by.as_str()), (None, "solution 2"));
    // 1249 ms for what takes less than a millisecond: another unit, but which is not said.
    let [(28, reason)] = &table.left_out[..] else { panic!("{:?}", table.left_out) };
    assert!(
        reason.starts_with("speed: found 247.57, in GFLOPS a time of 1249 ms, expected at most"),
        "{reason}"
    );

    assert_eq!(read("m.yaml", &mapping(logic, "80"), "").unwrap().tuned[0].num_cus, Some(80));
    for (text, message) in [
        (mapping("", "80"), "ExactLogic is missing"),
        (mapping("ExactLogic: []\n", "few"), "line 4: CUCount: found few, expected a number"),
        (mapping("ExactLogic:\n- - [1, 2]\n", "80"), "found '[1, 2]', expected a size and then"),
        (mapping(logic, "80").replace("Equality", "GridBased"), "found 'GridBased', expected Equality"),
    ] {
        let error = read("m.yaml", &text, "").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    let list = "---\n# tuned\n- {MinimumRequiredVersion: 4.33.0}\n- aquavanjaram\n\
                - {Architecture: gfx942, CUCount: 304}\n- [Device 0049]\n- DataTypeA: 7\n  DataTypeB: 7\n  \
                DestDataType: 7\n  TransposeA: 0\n  TransposeB: 1\n- - SolutionIndex: 0\n- [2, 3, 0, 1]\n\
                - - - [8, 2048, 1, 15360]\n    - [0, 31474.0]\n- null\n- null\n- DeviceEfficiency\n- Equality\n\
                ...\n";
    let table = read("l.yaml", list, "").unwrap();
    assert_eq!((table.tuned[0].num_cus, table.tuned[0].problem), (Some(304), first.problem));
}

#[test]
fn another_text_is_named() {
    let error = read("n.txt", "hello\n", "").unwrap_err().to_string();
    assert!(
        error.starts_with("n.txt: line 1: found 'hello', expected a header with M,N,K,us (AITER)"),
        "{error}"
    );
}
