use proptest::prelude::*;

use super::*;

const NAMES: [&str; 4] = ["tile_m", "tile_n", "pipeline", "name"];

fn message(text: &str) -> String {
    let read = Expression::parse(text, &NAMES).and_then(|it| it.value(&|_| Value::Number(7.0)));
    read.unwrap_err().to_string()
}

#[test]
fn mistakes_are_pointed_at_and_explained() {
    for (text, expected) in [
        ("", "column 1: found the end, expected an operand"),
        ("c.tile_m >", "column 11: found the end, expected an operand"),
        ("c.tile_m > 3 c.tile_n", "column 14: found 'c', expected an operator or the end"),
        ("c.tile_m = 64", "column 10: found '=', expected an operator or the end; '==' compares"),
        (
            "c.tile_m > 1 & c.tile_n",
            "column 14: found '&', expected an operator or the end; 'and', 'or' and 'not' combine",
        ),
        ("c.name[0]", "column 7: found '[', expected an operator or the end"),
        ("c.name is None", "column 8: found 'is', expected an operator or the end; '==' compares"),
        ("lambda x: x", "column 1: found 'lambda', expected an operand"),
        ("1 + not 2", "column 5: found 'not', expected an operand"),
        ("(1, 2", "column 6: found the end, expected an operator, ',' or ')'"),
        ("[1 2]", "column 4: found '2', expected an operator, ',' or ']'"),
        ("{1}", "column 1: found '{', expected an operand"),
        ("c", "column 2: found the end, expected '.' and a field, as in c.tile_m"),
        ("c.5", "column 3: found '5', expected the name of a field"),
        ("c.(1)", "column 3: found '(', expected the name of a field"),
        (
            "c.tile_x == 3",
            "column 3: kernels have no field 'tile_x'; did you mean 'tile_m'? (one of: tile_m, \
             tile_n, pipeline, name)",
        ),
        (
            "c.colour == 3",
            "column 3: kernels have no field 'colour', expected one of: tile_m, tile_n, pipeline, name",
        ),
        ("c.name()", "column 7: found '(', expected an operator or the end"),
        ("tile_m > 3", "column 1: unknown name 'tile_m', did you mean 'c.tile_m'?"),
        ("max(1, 2)", "column 1: unknown name 'max', expected c.<field>, a number or a text"),
        ("c.name.upper()", "column 8: found 'upper', expected startswith or endswith"),
        ("c.name.startswith", "column 18: found the end, expected '('"),
        ("'a'.startswith('a', 1)", "column 19: found ',', expected an operator or ')'"),
        ("c.tile_m\n  and 1 // 0", "'//' by zero"),
        ("c.tile_m + 'a' > 3", "'+' does not apply to a number and a text"),
        ("1 < 2 < (3 < 'a')", "'<' does not apply to a number and a text"),
        ("'a' in 3", "'in' does not apply to a text and a number"),
        ("'a' * 2", "'*' does not apply to a text and a number"),
        ("c.tile_m.startswith('a')", "'startswith' does not apply to a number and a text"),
        ("1 + 12abc", "column 5: not a decimal number"),
        ("0x10", "column 1: not a decimal number"),
        ("1_000", "column 1: not a decimal number"),
        ("c == 'ab", "column 6: this text has no closing quote"),
        ("'a\nb'", "column 1: this text has no closing quote"),
        ("'\\x41'", "column 1: texts of filters have no escapes"),
        ("c.tile_m == ?", "column 13: found '?', expected an expression"),
    ] {
        let message = message(text);
        assert!(message.starts_with(expected), "{text}\n  found    {message}\n  expected {expected}");
    }
}

#[test]
fn depth_is_bounded_and_chains_are_not_deep() {
    for deep in ["[".repeat(5000), "not ".repeat(5000), "'a'.startswith(".repeat(500)] {
        assert!(message(&deep).ends_with("nested more than 150 deep"), "{}", &deep[..10]);
    }
    let value = |text: &str| Expression::parse(text, &NAMES).unwrap().value(&|_| Value::Number(7.0)).unwrap();
    assert_eq!(value(&format!("1{}", "+1".repeat(5000))), Value::Number(5001.0));
    let chain = vec!["c.tile_m == 8"; 3000].join(" or ");
    assert!(!value(&chain).truthy());
    let chain = vec!["c.tile_m"; 3000].join(" <= ");
    assert!(value(&chain).truthy());
}

#[test]
fn fields_are_looked_at_only_when_they_matter() {
    let expression = Expression::parse("c.tile_m > 1000 and c.tile_n // 0", &NAMES).unwrap();
    assert!(!expression.value(&|_| Value::Number(7.0)).unwrap().truthy());
}

#[test]
fn files_hold_one_expression() {
    let parse = |text: &str| Filter::parse_file(Op::Conv, text);
    parse("# wide tiles\nc.tile_n >= 128\n  and not c.split_image  # of whole images\n").unwrap();
    parse("\u{feff}c.tile_n >= 128").unwrap();
    for (text, line) in [
        ("def filter_config(c):\n    return c.tile_n >= 128\n", 1),
        ("# mine\n\nimport os\n", 3),
        ("\"\"\"Wide tiles.\"\"\"\n\ndef filter_config(c):\n    return True\n", 1),
        ("@cache\ndef f(c): return 1", 1),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {line}: this is Python code, which is never")), "{error}");
    }
    let error = parse("c.tile_n >= 128\ndefault").unwrap_err();
    assert!(error.to_string().starts_with("line 2, column 1: found 'default'"), "{error}");
}

/// Every field has a value of its documented kind, for a kernel of each operation.
#[test]
fn all_fields_can_be_read() {
    let conv = "grouped_conv_bwd_weight_bf16_2d_64x128x64_mem_interwave_gm2_dsb_si_2stage";
    let gemm =
        "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_True_False_True_128x64x32_1x4x1_32x16x16";
    let holds = |name: &str, op: Op, text: &str| {
        let kernel = Kernel::from_name(name).unwrap();
        assert!(Filter::parse(op, text).unwrap().keeps(&kernel).unwrap(), "{text}");
    };
    for text in [
        "c.name == 'grouped_conv_bwd_weight_bf16_2d_64x128x64_mem_interwave_gm2_dsb_si_2stage'",
        "c.variant == 'bwd_weight' and c.ndim_spatial == 2 and c.dtype == 'bf16' and c.layout == 'nhwgc' and \
         c.arch == None",
        "(c.tile_m, c.tile_n, c.tile_k) == (64, 128, 64) and c.tile_str == '64x128x64'",
        "(c.wave_m, c.wave_n, c.wave_k) == (2, 2, 1) and c.wave_str == '2x2x1'",
        "(c.warp_tile_m, c.warp_tile_n, c.warp_tile_k) == (32, 32, 16) and c.warp_str == '32x32x16'",
        "(c.vector_size_a, c.vector_size_b, c.vector_size_c) == (4, 8, 8) and c.vec_str == '4x8x8'",
        "(c.pipeline, c.epilogue, c.scheduler) == ('mem', 'cshuffle', 'interwave')",
        "(c.block_per_cu, c.num_wave_groups, c.num_groups_to_merge) == (1, 1, 2)",
        "c.pad_m and c.pad_n and c.pad_k and c.double_smem_buffer and c.split_image and c.two_stage and not \
         c.explicit_gemm",
    ] {
        holds(conv, Op::Conv, text);
    }
    for text in [
        "c.name.startswith('gemm_universal_') and (c.dtype, c.layout, c.arch) == ('fp8', 'rcr', None)",
        "(c.tile_m, c.tile_n, c.tile_k, c.warp_m, c.warp_n, c.warp_k) == (128, 64, 32, 1, 4, 1)",
        "(c.warp_tile_m, c.warp_tile_n, c.warp_tile_k) == (32, 16, 16)",
        "(c.pipeline, c.epilogue, c.scheduler) == ('compv3', 'cshuffle', 'intrawave')",
        "(c.pad_m, c.pad_n, c.pad_k, c.persistent) == (False, True, False, True)",
    ] {
        holds(gemm, Op::Gemm, text);
    }
    let other = Filter::parse(Op::Gemm, "True").unwrap();
    assert!(!other.keeps(&Kernel::from_name(conv).unwrap()).unwrap(), "a kernel of another operation");
    for op in Op::ALL {
        let fields = fields(*op);
        let unique: std::collections::HashSet<_> = fields.iter().map(|field| field.name).collect();
        assert_eq!(unique.len(), fields.len());
        assert!(fields.iter().all(|field| !field.doc.is_empty()));
    }
}

/// Fragments of filters, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "c.tile_m", "c.", "c", "1", "2.5", "'a'", "'", "\"", "(", ")", "[", "]", ",", "and", "or", "not",
        "in", "==", "<", "=", "+", "-", "//", "%", ".startswith(", "None", "True", "#", "\n", "ä", "\\",
        "if",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn any_text_gives_a_value_or_an_error(text in prop_oneof![pieces(), any::<String>()]) {
        // Whatever it is, it does not panic.
        if let Ok(read) = Expression::parse(&text, &NAMES) {
            let _ = read.value(&|_| Value::Number(7.0));
        }
    }
}
