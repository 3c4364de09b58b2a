use std::collections::HashSet;
use std::fs;

use ck_select_types::kernel::{ConvTile, Kernel, KernelKind, Mnk};
use ck_select_types::vocab::Pipeline;

use super::{FILES, ResultTile, Rules, parse};

fn rules() -> Rules {
    Rules::built_in().unwrap()
}

/// The library contains the ten tiles to read names, and the sweep reads them from a file: they must agree.
#[test]
fn tiles_are_those_of_the_library() {
    let rules = rules();
    assert_eq!(rules.conv.tiles, ConvTile::ALL);
    for &pipeline in Pipeline::ALL {
        let listed = rules.gemm.double_buffered.contains(&pipeline);
        assert_eq!(listed, pipeline.double_buffered(), "{pipeline}");
    }
}

#[test]
fn wave_sizes_are_those_of_the_library() {
    for (name, table) in &rules().arch.architectures {
        let arch: ck_select_types::vocab::Arch = name.parse().unwrap();
        assert_eq!(i64::from(table.warp_size), arch.wave_size(), "{name}");
    }
}

/// Which architectures have the waves of a tile: the last column of the table of tiles.
#[test]
fn two_tiles_need_waves_that_only_gfx950_has() {
    let rules = rules();
    for (name, table) in &rules.arch.architectures {
        let fitting = rules.conv.tiles.iter().filter(|rule| table.waves.contains(&rule.wave)).count();
        let expected = match name.as_str() {
            "gfx950" => 10,
            "gfx908" | "gfx90a" | "gfx942" | "gfx1250" => 8,
            _ => 0,
        };
        assert_eq!(fitting, expected, "{name}");
    }
}

#[test]
fn a_directory_replaces_files() {
    let folder = tempfile::tempdir().unwrap();
    let error = || Rules::read(folder.path()).unwrap_err().to_string();
    assert!(error().contains("found no rules, expected some of arch.json, conv.json"));
    let (name, text) = FILES[3];
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    assert!(Rules::read(folder.path()) == Ok(rules()), "what is not there is built in");
    fs::write(folder.path().join("Conv.json"), text).unwrap();
    assert!(error().contains("found Conv.json, expected only arch.json, conv.json"));
    fs::remove_file(folder.path().join("Conv.json")).unwrap();
    fs::write(&path, text.replace("\"wave\": \"2x2x1\"", "\"wave\": \"4x1x1\"")).unwrap();
    assert_eq!(Rules::read(folder.path()).unwrap().sweep.wave, Mnk::new(4, 1, 1));
    assert!(Rules::read(&folder.path().join("none")).unwrap_err().to_string().ends_with("no such directory"));
}

#[test]
fn every_built_in_file_says_what_it_is() {
    for &(name, text) in FILES {
        let value: serde_json::Value = parse(&(name.to_owned(), text.to_owned())).unwrap();
        assert!(value["about"].as_str().is_some_and(|about| about.len() > 20), "{name}");
    }
}

#[test]
fn rules_are_checked_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (file, from, to, message) in [
        ("ml_sweep.json", "\"2x2x1\"", "\"2x2\"", "found '2x2', expected three numbers joined by 'x'"),
        ("ml_sweep.json", "\"cshuffle\"", "\"shuffle\"", "unknown epilogue 'shuffle', expected one of: none"),
        ("ml_sweep.json", "\"pad\"", "\"pads\"", "unknown field `pads`, expected one of `about`"),
        ("ml_sweep.json", "\"persistent\": false,", "", "missing field `persistent`"),
        ("gemm_families.json", r#"["k"]"#, r#"["km"]"#, "found 'km', expected letters of mnk, in this order"),
        (
            "gemm_families.json",
            "\"aquant\"",
            "\"cquant\"",
            "unknown quantisation 'cquant', expected one of: aquant",
        ),
        ("gemm_families.json", "\"packed\"", "\"rows\"", "unknown variant `rows`, expected one of `packed`"),
        (
            "gemm_families.json",
            "whole_loads",
            "loads",
            "unknown field `loads`, expected one of `architectures`",
        ),
    ] {
        let text = FILES.iter().find(|(name, _)| *name == file).unwrap().1;
        assert!(text.contains(from), "{from}");
        let path = folder.path().join(file);
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = Rules::read(folder.path()).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert!(error.starts_with(&format!("{}: {message}", path.display())), "{error}");
        assert!(error.contains(" at line "), "{error}");
    }
    // Every name of instructions is there.
    let families = rules().gemm_families;
    let named = families.families.values().filter_map(|family| family.instructions.as_ref());
    assert!(
        named.clone().count() > 0 && named.into_iter().all(|name| families.instructions.contains_key(name))
    );
}

/// A row of 64 elements of fp16 takes 128 bytes: two make a layer of 64 words, which is even.
#[test]
fn tiles_of_results_have_their_padding() {
    assert_eq!(ResultTile::Packed.bytes(128, 64, 2), 16_384);
    assert_eq!(ResultTile::PaddedRows.bytes(128, 64, 2), 16_384 + 127 * 2);
    assert_eq!(ResultTile::PaddedLayers.bytes(128, 64, 2), 16_384 + 63 * 4);
    // 130 elements make 65 words.
    assert_eq!(ResultTile::PaddedLayers.bytes(4, 130, 2), 4 * 260);
}

/// The counts of the generators' own lists: kernels, and numbers of which some stand for one kernel.
#[test]
fn aiter_builds_so_many_kernels() {
    let rules = rules().aiter;
    for (family, counts) in [
        ("a4w4_blockscale", [None, Some((20, 20))]),
        ("a8w8_batched", [Some((85, 86)); 2]),
        ("a8w8_blockscale", [Some((27, 27)), Some((52, 52))]),
        ("a8w8_blockscale_bpreshuffle", [Some((26, 26)), Some((51, 51))]),
        ("a8w8_bpreshuffle", [Some((395, 424)), Some((393, 418))]),
        ("a8w8_bpreshuffle_cktile", [Some((252, 265)), Some((250, 259))]),
        ("a8w8_rowwise", [Some((85, 86)); 2]),
        ("bf16_batched", [Some((85, 86)); 2]),
    ] {
        for (arch, expected) in ["gfx942", "gfx950"].into_iter().zip(counts) {
            let Ok(kernels) = rules.kernels(family, arch.parse().unwrap()) else {
                assert_eq!(expected, None, "{family} {arch}");
                continue;
            };
            let names: HashSet<&str> = kernels.iter().map(|(kernel, _)| kernel.name.as_str()).collect();
            let numbered = kernels.iter().filter(|(_, number)| number.is_some()).count();
            assert_eq!(Some((names.len(), numbered)), expected, "{family} {arch}");
            for (kernel, _) in &kernels {
                let KernelKind::Gemm(gemm) = &kernel.kind else { panic!("{}", kernel.name) };
                assert_eq!((gemm.name(), gemm.arch), (kernel.name.clone(), arch.parse().ok()));
            }
        }
    }
    let numbered = |family, arch: &str, wanted| {
        let kernels = rules.kernels(family, arch.parse().unwrap()).unwrap();
        let of_tile = |kernel: &Kernel| kernel.name.contains("cktile");
        let built = kernels.iter().filter(|(kernel, number)| of_tile(kernel) && *number == Some(wanted));
        built.map(|(kernel, _)| kernel.name.clone()).collect::<Vec<_>>()
    };
    // The first that only another number of workgroups sets apart, and the last.
    for (family, arch, number, name) in [
        (
            "a8w8_bpreshuffle",
            "gfx942",
            139,
            "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x3_128x128x128_1x4x1_16x16x64_default",
        ),
        (
            "a8w8_blockscale",
            "gfx950",
            32,
            "a8w8_blockscale_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_4_aqrm",
        ),
    ] {
        assert_eq!(numbered(family, arch, number), [name]);
    }
    let error = rules.kernels("a4w4_blockscale", "gfx942".parse().unwrap()).unwrap_err().to_string();
    assert_eq!(error, "AITER's a4w4_blockscale is not for gfx942, expected gfx950");
    let error = rules.kernels("a8w8", "gfx942".parse().unwrap()).unwrap_err().to_string();
    assert!(
        error.starts_with("AITER has no family 'a8w8', expected one of: a4w4_blockscale, a8w8_batched"),
        "{error}"
    );
}
