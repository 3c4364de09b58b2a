//! Structs have the same sizes and offsets on both sides.

use std::fmt::Write as _;
use std::mem::offset_of;

use ck_select::ffi::{
    CkColumn, CkExportOptions, CkForestBytes, CkGemmGroup, CkGemmGroups, CkKernelHooks, CkKernelInfo,
    CkModelKey, CkModelOptions, CkObjects, CkOptions, CkPredictions, CkQuant, CkRanked, CkRowOptions,
    CkSelection, CkStreamK, CkTable, CkTuneBudget, CkTuneReport, mirrored_structs,
};

use super::tools;

/// For each struct its lines of the table as Rust has them, and the C statements that print the same lines.
macro_rules! table {
    ($($name:ident = $c_name:literal { $($field:ident),+ $(,)? })+) => {{
        let (mut rust, mut c) = (String::new(), String::new());
        $(
            // Does not compile when a field is missing in the table.
            let _ = |$name { $($field: _),+ }: $name| ();
            let _ = writeln!(rust, "{} {} {}", $c_name, size_of::<$name>(), align_of::<$name>());
            let _ = writeln!(
                c,
                "  printf(\"{0} %zu %zu\\n\", sizeof({0}), _Alignof({0}));",
                $c_name
            );
            $(
                let _ = writeln!(rust, "{}.{} {}", $c_name, stringify!($field), offset_of!($name, $field));
                let _ = writeln!(
                    c,
                    "  printf(\"{0}.{1} %zu\\n\", offsetof({0}, {1}));",
                    $c_name,
                    stringify!($field)
                );
            )+
        )+
        (rust, c)
    }};
}

/// A letter of a Rust type as C spells it.
fn snake(letter: char) -> impl Iterator<Item = char> {
    letter.is_uppercase().then_some('_').into_iter().chain(letter.to_lowercase())
}

#[test]
fn structs_have_the_same_layout_on_both_sides() {
    let (mut rust, mut c) = table! {
        CkGemmGroup = "ck_gemm_group" { m, n, k, count }
        CkGemmGroups = "ck_gemm_groups" { items, count }
        CkQuant = "ck_quant" { mode, group_a, group_b }
        CkStreamK = "ck_stream_k" { reduction, persistent, reserved }
        CkOptions = "ck_options" {
            struct_size, mode, ignore_environment, override_file, arch, store, device_name, stream, refine,
            refine_out_of_range, search, repeats, warmup, host_timing, embedded_models, no_estimate,
            budget_ms, cutoff, run_timeout_ms, hardware, splits,
        }
        CkModelKey = "ck_model_key" { struct_size, op, direction, dtype, reserved, arch }
        CkModelOptions = "ck_model_options" { struct_size, key, hardware, force, reserved }
        CkExportOptions = "ck_export_options" { struct_size, registry_name, timestamp, statistics, reserved }
        CkKernelHooks = "ck_kernel_hooks" {
            struct_size, user, priority, reserved, supports_conv, supports_gemm, run_conv, run_gemm,
            supports_fmha, run_fmha, context, release,
        }
        CkKernelInfo = "ck_kernel_info" { struct_size, name, user, index, priority, reserved }
        CkForestBytes = "ck_forest_bytes" { struct_size, target, reserved, bytes, len }
        CkSelection = "ck_selection" {
            struct_size, name, user, index, split_k, reserved, rank, unsupported, score, measured_ms, generation, source,
            out_of_range, out_of_range_fields, unmeasured, arch_unknown, no_model, generic, model,
        }
        CkRanked = "ck_ranked" {
            struct_size, name, user, index, split_k, reserved, score, tied, unmeasured,
        }
        CkRowOptions = "ck_row_options" {
            struct_size, target, uncoded, tolerate_no_spec, force, engine, hardware, threads,
        }
        CkColumn = "ck_column" { struct_size, name, integers, numbers, codes, words, word_count }
        CkObjects = "ck_objects" {
            struct_size, list_item, dict_next, utf8, whole, number, none, types, names, kinds, name_count,
            keeps_unknown, reserved,
        }
        CkTable = "ck_table" { columns, column_count, states }
        CkTuneBudget = "ck_tune_budget" { struct_size, time_ms, stream, kernels, reserved }
        CkTuneReport = "ck_tune_report" {
            struct_size, measured, improved, failed, waiting, saved_ms, elapsed_ms,
        }
        CkPredictions = "ck_predictions" { struct_size, tflops, latency_ms, bandwidth_gb_s }
    };
    for one in mirrored_structs() {
        let name: String = one.name.chars().flat_map(snake).skip(1).collect();
        let [size, align] = one.layout;
        let _ = writeln!(rust, "{name} {size} {align}");
        let _ = writeln!(c, "  printf(\"{name} %zu %zu\\n\", sizeof({name}), _Alignof({name}));");
        for field in one.fields {
            let (field, offset) = (field.name, field.offset);
            let _ = writeln!(rust, "{name}.{field} {offset}");
            let _ = writeln!(c, "  printf(\"{name}.{field} %zu\\n\", offsetof({name}, {field}));");
        }
    }
    let header = ["include/ck_select.h", "include/ck_select_rows.h"]
        .map(|name| std::fs::read_to_string(tools::source(name)).unwrap())
        .concat();
    let declared: Vec<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("} ck_"))
        .filter_map(|rest| rest.strip_suffix(';'))
        .collect();
    for name in declared {
        let is_enum = header.contains(&format!("A `ck_{name}`")) || name == "status";
        assert!(is_enum || rust.contains(&format!("ck_{name} ")), "ck_{name} is not in the table");
    }

    let directory = tools::scratch("layouts");
    let program_text = format!(
        "#include \"ck_select_rows.h\"\n#include <stdio.h>\n\nint main(void) {{\n{c}  return 0;\n}}\n"
    );
    let file = directory.join("layouts.c");
    std::fs::write(&file, program_text).unwrap();
    for compilers in tools::compilers() {
        let program = directory.join(compilers.c);
        tools::run(tools::compile(compilers.c, "c11").arg(&file).arg("-o").arg(&program));
        assert_eq!(tools::run(&mut std::process::Command::new(&program)), rust, "{compilers:?}");
    }
}
