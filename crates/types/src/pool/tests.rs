use super::*;
use crate::kernel::{GemmKernel, KernelKind};
use crate::vocab::{Dtype, Op, Pipeline};

const CONV: &str = "grouped_conv_forward_bf16_2d_16x64x64_compv3";
const GEMM: &str = "fp16_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32";

fn pool(text: &str) -> Result<Pool, PoolError> {
    Pool::from_bytes("f", text.as_bytes())
}

#[track_caller]
fn refuses(text: &str, message: &str) {
    let error = pool(text).unwrap_err().to_string();
    assert_eq!(error, message);
}

#[test]
fn pools_that_are_not_text_are_refused_by_name() {
    let packed = Pool::from_bytes("f", b"BZh9").unwrap_err().to_string();
    assert_eq!(packed, "f: found bzip2 data, expected UTF-8 text");
    let expected = "f, line 1: found a carriage return, expected lines that end with a line feed";
    refuses(&format!("{CONV}\r{CONV}\r"), expected);
    refuses("kernel,N\ra,1\r", expected);
}

#[test]
fn a_pool_has_kernels_of_one_operation() {
    let conv = Kernel::from_name(CONV).unwrap();
    let backward = Kernel::from_name(&CONV.replace("forward", "bwd_data")).unwrap();
    let gemm = Kernel::from_name(GEMM).unwrap();
    assert_eq!(Pool::new(vec![]).unwrap_err().to_string(), "no kernel found, expected at least one");
    assert_eq!(Pool::new(vec![conv.clone(), backward]).unwrap().op(), Op::Conv);
    let error = Pool::new(vec![conv, gemm]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "'{GEMM}' is a gemm_universal kernel, but '{CONV}' is a grouped_conv kernel: \
             a pool has one operation"
        )
    );
}

#[test]
fn positions_are_those_of_the_first_kernel_of_a_name() {
    let names = ["b", "a", "b", "c", "a"].map(|letter| format!("gemm_{GEMM}_{letter}"));
    let pool = pool(&names.join("\n")).unwrap();
    assert_eq!(pool.len(), 5);
    for (letter, position) in [("a", Some(1)), ("b", Some(0)), ("c", Some(3)), ("d", None), ("", None)] {
        assert_eq!(pool.position(&format!("gemm_{GEMM}_{letter}")), position);
    }
    assert_eq!(pool.iter().map(|kernel| &kernel.name).collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
    assert_eq!(pool.get(4).map(|kernel| kernel.name.as_str()), Some(names[4].as_str()));
    assert_eq!((&pool).into_iter().len(), 5);
    assert_eq!(pool.get(5), None);
}

#[test]
fn text_may_have_comments_marks_and_lists() {
    let text = format!("\u{feff}# ours\r\n\r\n  {CONV} \r\n benchmark_{CONV} |16x64x64|compv3\r\n#{GEMM}");
    let pool = pool(&text).unwrap();
    assert_eq!(pool.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>(), [CONV, CONV]);
}

/// A column of times made all kernels of a file measured, those without a time, too.
#[test]
fn a_kernel_with_a_time_is_measured() {
    let names = ["compv3", "compv4", "mem"].map(|pipeline| CONV.replace("compv3", pipeline));
    let [one, two, three] = &names;
    for (text, expected) in [
        (format!("kernelName,us\n{one},inf\n{two},2.5\n{three},\n{one},0\n"), [false, true, false]),
        (
            format!("kernel,latency_ms,tflops\n{one},N/A,0\n{two},N/A,0\n{three},0.1,7\n"),
            [false, false, true],
        ),
        (format!("kernel,arch,tflops\n{one},gfx942,1\n{two},gfx950,1\n{three},,1\n"), [true, false, true]),
        (format!("kernel,N\n{one},1\n{two},2\n{three},3\n"), [false; 3]),
    ] {
        let pool = Pool::from_text("f", Box::new(text.as_bytes()), "gfx942".parse().ok()).unwrap();
        let measured: Vec<bool> = pool.iter().map(|kernel| pool.is_measured(kernel)).collect();
        assert_eq!(measured, expected, "{text}");
    }
}

#[test]
fn csv_columns_are_found_by_name_and_rows_deduplicated() {
    for text in [
        format!("kernel\n{CONV}\n{CONV}\n"),
        format!("# sweep\n\"N\",\"kernel_name\"\n\"1,5\",\"{CONV}\"\n2, {CONV}\n\n"),
        format!("kernel_name,kernel\r\n,{CONV}\r\n"),
        format!("gfx,id,kernelName\ngfx942,0,{CONV}\ngfx950,0,{CONV}\n"),
        format!("\u{feff}kernel,N\n{CONV},\"two\nlines\"\n"),
    ] {
        let pool = pool(&text).unwrap();
        assert_eq!((pool.len(), pool.get(0).unwrap().name.as_str()), (1, CONV), "{text}");
    }
    let two = format!("gfx,kernelName\ngfx942,{CONV}\ngfx950,{}\n", CONV.replace("compv3", "compv4"));
    let on =
        |arch: &str| Pool::from_text("f", Box::new(two.as_bytes()), arch.parse().ok()).map(|pool| pool.len());
    assert_eq!((on("gfx950"), on(""), on("gfx90a").is_err()), (Ok(1), Ok(2), true));
    // Where none is asked for, each kernel is of its own, or of several (4e0c94d0).
    let all = format!("{two}gfx942,{0}\ngfx950,{0}\n", CONV.replace("compv3", "compv5"));
    let archs = pool(&all).unwrap().iter().map(|kernel| kernel.kind.arch()).collect::<Vec<_>>();
    assert_eq!(archs, ["gfx942", "gfx950", ""].map(|arch| arch.parse().ok()));
    let of_none = format!("gfx,kernelName\n,{CONV}\n");
    assert_eq!(pool(&of_none).unwrap().get(0).unwrap().kind.arch(), None);
    let error = pool(&of_none.replace("\n,", "\nMI300X,")).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(2), Some("gfx")), "{error}");
    // A header of one column was taken for a name.
    refuses(
        &format!("kernelname\n{CONV}\n"),
        "f, line 1: found the columns 'kernelname', expected a column 'kernel', 'kernel_name' or 'kernelName', \
         or a text file of one name a line",
    );
    refuses(
        "N,C\n1,2\n",
        "f, line 1: found the columns 'N, C', expected a column 'kernel', 'kernel_name' or 'kernelName', \
         or a text file of one name a line",
    );
    // The second name was passed over.
    refuses(
        &format!("kernel_name,kernel\nwhatever,{CONV}\n"),
        &format!("f, line 2, kernel_name: found 'whatever', expected '{CONV}' as in kernel"),
    );
    refuses(&format!("kernel,N\n{CONV},1\n{CONV}\n"), "f, line 3: found 1 cell, expected 2 as in the header");
    let unclosed = "f, line 2: found a quoted cell without an end, expected '\"' behind it";
    refuses(&format!("kernel,N\n{CONV},\"1\n{CONV},2\n"), unclosed);
    let error = pool(&format!("N,kernel\n\"a\nb\",{CONV}\n1,\n")).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (Some(4), Some("kernel")));
    for text in [
        "kernel_name\n# a comment\n\nbad\n",
        "kernel_name\r\n# a comment\r\n\r\nbad\r\n",
        "# a comment\r\n\r\nkernel_name\r\nbad\r\n",
    ] {
        let error = pool(text).unwrap_err();
        assert_eq!((error.line, error.field.as_deref()), (Some(4), Some("kernel_name")), "{text}");
    }
}

#[test]
fn json_takes_what_is_in_the_fields_and_fills_up_from_the_name() {
    let name = "grouped_conv_bwd_weight_fp16_3d_16x64x64_mem_dsb_2stage";
    let text = format!(
        r#"{{"metadata": {{"count": 1}}, "kernels": [{{"name": "{name}",
            "signature": {{"variant": "bwd_weight", "dtype": "fp16", "ndim_spatial": 3, "layout": "nhwgc"}},
            "algorithm": {{"tile_m": 16, "tile_n": 64, "tile_k": 64, "wave": "4x1x1", "warp": "32x32x8",
                "pipeline": "mem", "epilogue": "default", "scheduler": "interwave", "vector_sizes": [1, 2, 4],
                "block_per_cu": 2, "num_wave_groups": 3, "num_groups_to_merge": 4}},
            "arch": "gfx950", "something": ["new"]}}]}}"#
    );
    let pool = pool(&text).unwrap();
    let KernelKind::Conv(conv) = &pool.get(0).unwrap().kind else { panic!("a convolution") };
    assert_eq!(
        conv.long_name(),
        "grouped_conv_bwd_weight_fp16_nhwgc_3d_mem_default_interwave_16x64x64_4x1x1_32x32x8_vec1_2_4_bpc2_wg3\
         _gm4_dsb_2stage"
    );
    assert_eq!(conv.arch.unwrap().as_str(), "gfx950");
}

#[test]
fn gemm_exports_lose_pads_and_newer_pipelines_which_the_identifier_has() {
    let identifier = "int4_rcr_wavelet_bias_activation_auto_True_False_True_True_64x64x64_1x4x1_16x16x32_d1";
    let text = format!(
        r#"{{"kernels": [{{"name": "mine", "identifier": "{identifier}",
            "signature": {{"dtype_a": "unknown", "dtype_b": "fp16", "dtype_c": "unknown",
                "dtype_acc": "int32", "layout_a": "row_major", "layout_b": "col_major",
                "layout_c": "row_major", "transpose_a": true, "split_k": 1,
                "elementwise_op": "PassThrough", "num_d_tensors": 1, "structured_sparsity": false}},
            "algorithm": {{"tile_shape": {{"m": 64, "n": 64, "k": 64}},
                "wave_shape": {{"m": 1, "n": 4, "k": 1}},
                "warp_tile_shape": {{"m": 16, "n": 16, "k": 32}}, "pipeline": "unknown", "scheduler": "auto",
                "epilogue": "unknown", "block_size": 0, "persistent": true, "num_wave_groups": 2}},
            "gfx_arch": "gfx942"}}]}}"#
    );
    let pool = pool(&text).unwrap();
    let Kernel { name, kind: KernelKind::Gemm(gemm) } = pool.get(0).unwrap() else { panic!("a GEMM") };
    assert_eq!((name.as_str(), gemm.identifier().as_str()), (identifier, identifier));
    assert_eq!((gemm.dtype_a, gemm.dtype_b, gemm.pipeline), (Dtype::Int4, Dtype::Fp16, Pipeline::Wavelet));
    assert_eq!((gemm.pad, gemm.block_size, gemm.num_wave_groups), ([true, false, true], 256, 2));
    assert!(gemm.transpose_a);
}

#[test]
fn fields_that_no_exporter_writes_are_read_and_contradicted() {
    // Before, only the exporters' own keys were.
    let element = r#"{"kernels": [{"identifier": "ID", "algorithm": {"pad_m": false}}]}"#;
    let text = element.replace("ID", GEMM);
    let error = pool(&text).unwrap_err().to_string();
    assert!(error.contains("kernels[0].algorithm.pad_m: the field says false, but the name"), "{error}");
}

#[test]
fn a_gemm_name_beside_the_identifier_adds_vector_widths() {
    let element = |name: &str| format!(r#"[{{"name": "{name}", "identifier": "{GEMM}"}}]"#);
    for (name, vector) in
        [(format!("gemm_{GEMM}_vec4_8_2"), [4, 8, 2]), ("gemm_own_words".to_owned(), [0; 3])]
    {
        let pool = pool(&element(&name)).unwrap();
        let KernelKind::Gemm(gemm) = &pool.get(0).unwrap().kind else { panic!("a GEMM") };
        assert_eq!((gemm.vector, pool.get(0).unwrap().name.as_str()), (vector, GEMM));
    }
    let other = format!("gemm_{}", GEMM.replace("mem", "compv3"));
    refuses(
        &element(&other),
        &format!(
            "f, line 1, [0].identifier: the field says {GEMM}, but the name '{other}' says {}",
            GEMM.replace("mem", "compv3")
        ),
    );
}

#[test]
fn identifiers_of_older_dispatchers_need_a_name_that_says_enough() {
    let old = "64x64x64_1x4x1_16x16x32_nopers";
    let pool = pool(&format!(
        r#"[{{"name": "gemm_{GEMM}", "identifier": "{old}", "signature": {{"split_k": 4}}}}]"#
    ))
    .unwrap();
    let Kernel { name, kind: KernelKind::Gemm(gemm) } = pool.get(0).unwrap() else { panic!("a GEMM") };
    assert_eq!((name.as_str(), gemm.split_k), (format!("gemm_{GEMM}").as_str(), 4));
    let error =
        super::Pool::from_bytes("f", format!(r#"[{{"identifier": "{old}"}}]"#).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("an identifier of an older dispatcher"), "{error}");
}

#[test]
fn other_shapes_of_json_are_read_too() {
    for text in [
        format!(r#"["{CONV}"]"#),
        format!(r#"{{"name": "{CONV}", "algorithm": null}}"#),
        format!(r#"[{{"name": "{CONV}"}}]"#),
        format!(r#" {{"kernels": ["{CONV}"], "name": "the registry", "statistics": {{"by": {{}}}}}} "#),
    ] {
        assert_eq!(pool(&text).unwrap().position(CONV), Some(0), "{text}");
    }
}

#[test]
fn files_that_cannot_be_read_say_so() {
    let error = Pool::read("no/such/file").unwrap_err();
    assert!(error.to_string().starts_with("no/such/file: cannot be read: "), "{error}");
}

#[test]
fn long_values_are_not_repeated_whole() {
    let long = "x".repeat(100_000);
    for text in [
        long.clone(),
        format!("a,{long}\n"),
        format!(r#"["{long}"]"#),
        format!(r#"{{"name": "{CONV}", "arch": "{long}"}}"#),
    ] {
        assert!(pool(&text).unwrap_err().to_string().len() < 500);
    }
}

#[test]
fn fields_outside_the_name_are_exported_and_read_back() {
    let read = |text: &str| pool(text);
    let options = ExportOptions::default();
    let KernelKind::Gemm(gemm) = Kernel::from_name(GEMM).unwrap().kind else { panic!("a GEMM") };
    let kind = KernelKind::Gemm(GemmKernel { vector: [8, 4, 2], ..gemm });
    let kernel = Kernel { name: GEMM.to_owned(), kind };
    let text = export_json(Op::Gemm, [&kernel].into_iter(), &options).unwrap();
    assert_eq!(read(&text).unwrap().kernels(), [kernel.into()]);
    // A convolution may have any name, if its fields tell what it is.
    for suffixes in ["", "_dsb", "_2stage", "_gm4"] {
        for name in ["mine", CONV] {
            let own =
                Kernel { name: name.to_owned(), ..Kernel::from_name(&format!("{CONV}{suffixes}")).unwrap() };
            let text = export_json(Op::Conv, [&own].into_iter(), &options).unwrap();
            assert_eq!(read(&text).unwrap().kernels(), [own.into()]);
        }
    }
    assert!(read(r#"[{"name": "mine", "signature": {"ndim_spatial": 2}}]"#).is_err());
}
