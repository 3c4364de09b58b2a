//! Structs have the same sizes and offsets on both sides.

use std::fmt::Write as _;
use std::mem::offset_of;

use ck_select::ffi::{
    CkColumn, CkConvKernelDesc, CkConvProblem, CkExportOptions, CkFmhaKernelDesc, CkFmhaProblem,
    CkForestBytes, CkGemmGroup, CkGemmKernelDesc, CkGemmProblem, CkHardware, CkKernelHooks, CkKernelInfo,
    CkModelKey, CkModelOptions, CkOptions, CkPredictions, CkRanked, CkRowOptions, CkSelection, CkTuneBudget,
    CkTuneReport,
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

#[test]
fn structs_have_the_same_layout_on_both_sides() {
    let (rust, c) = table! {
        CkConvProblem = "ck_conv_problem" {
            struct_size, direction, ndim, n, c, k, g, input, filter, stride, dilation, pad_left, pad_right,
            split_k, dtype_in, dtype_wei, dtype_out, layout, reserved, arch,
        }
        CkGemmProblem = "ck_gemm_problem" {
            struct_size, m, n, k, split_k, dtype_a, dtype_b, dtype_c, layout_a, layout_b, layout_c, reserved,
            arch, batch, groups, num_groups, stream_k, num_d, preshuffle, quant, quant_group_a, quant_group_b,
        }
        CkGemmGroup = "ck_gemm_group" { m, n, k, count }
        CkFmhaProblem = "ck_fmha_problem" {
            struct_size, api_family, family, dtype, mode, mask, bias, qscale, rope, kv_layout, kv_lookup,
            batch, seqlen_q, seqlen_k, nhead_q, nhead_k, hdim_q, hdim_v, max_seqlen_q, max_seqlen_k,
            page_size, num_splits, window_left, window_right, sink_size, min_seqlen_q, rotary_dim, v_rowmajor,
            logits, lse, dropout, paged_kv, fp8_static_quant, skip, sink, dbias, store_randval, deterministic,
            has_seqstart_q_ptr, has_seqstart_k_ptr, has_seqlen_q_ptr, has_seqlen_k_ptr, has_cu_seqlen_q_ptr,
            has_cu_seqlen_k_ptr, has_block_table_ptr, has_cache_batch_idx, is_gappy, has_rotary_cos_sin,
            reserved, arch,
        }
        CkFmhaKernelDesc = "ck_fmha_kernel_desc" {
            struct_size, name, arch, pipeline, constraint_tag, family, dtype, mode, mask, bias, qscale, rope,
            kv_layout, kv_lookup, v_rowmajor, logits, lse, dropout, paged_kv, fp8_static_quant, skip, sink,
            dbias, store_randval, deterministic, page_size, hdim_q, hdim_v, receipt, tile, wave, warp_tile,
            pad, trload, block_per_cu, num_wave_groups, max_splits_log2, max_seq_len_q, hdim_q_alignment,
            hdim_v_alignment, selection_rank, reserved,
        }
        CkOptions = "ck_options" {
            struct_size, mode, ignore_environment, override_file, arch, store, device_name, stream, refine,
            refine_out_of_range, search, repeats, warmup, host_timing, embedded_models, no_estimate,
            budget_ms, cutoff, run_timeout_ms, hardware,
        }
        CkConvKernelDesc = "ck_conv_kernel_desc" {
            struct_size, name, arch, pipeline, scheduler, epilogue, specialization, stream_k_reduction,
            direction, ndim, dtype_in, dtype_wei, dtype_out, layout, tile, wave, warp_tile, vector,
            block_per_cu, num_wave_groups, num_groups_to_merge, double_smem_buffer, split_image,
            explicit_gemm, two_stage, stream_k_persistent,
        }
        CkGemmKernelDesc = "ck_gemm_kernel_desc" {
            struct_size, name, arch, pipeline, scheduler, epilogue, elementwise, dtype_a, dtype_b, dtype_c,
            dtype_acc, layout_a, layout_b, layout_c, transpose_a, transpose_b, grouped, split_k,
            num_d_tensors, structured_sparsity, tile, wave, warp_tile, pad, vector, block_size, double_buffer,
            persistent, preshuffle, transpose_c, num_wave_groups, batched, stream_k_reduction, quant,
            quant_group_a, quant_group_b, shuffled_scales, d_layout, block_per_cu,
        }
        CkHardware = "ck_hardware" {
            struct_size, num_cus, simds_per_cu, shader_engines, max_clock_mhz, max_waves_per_cu,
            wavefront_size, lds_capacity, l1_cache_kb, l2_cache_kb, l3_cache_kb, num_xcd,
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
            struct_size, name, user, index, rank, unsupported, score, measured_ms, generation, source,
            out_of_range, out_of_range_fields, unmeasured, arch_unknown, no_model, generic, model,
        }
        CkRanked = "ck_ranked" { struct_size, name, user, index, score, tied, unmeasured }
        CkRowOptions = "ck_row_options" {
            struct_size, target, uncoded, tolerate_no_spec, force, engine, hardware,
        }
        CkColumn = "ck_column" { struct_size, name, integers, numbers, codes, words, word_count }
        CkTuneBudget = "ck_tune_budget" { struct_size, time_ms, stream, kernels, reserved }
        CkTuneReport = "ck_tune_report" {
            struct_size, measured, improved, failed, waiting, saved_ms, elapsed_ms,
        }
        CkPredictions = "ck_predictions" { struct_size, tflops, latency_ms, bandwidth_gb_s }
    };
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
