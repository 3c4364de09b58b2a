//! The dispatcher headers against each generation of CK's headers, as stand-ins of the same names.

use std::path::Path;
use std::process::Command;

use super::programs::SANITIZERS;
use super::{examples, tools};

/// A generation, and what its test is compiled with.
struct Generation {
    name: &'static str,
    test: &'static str,
    defines: &'static [&'static str],
}

const GENERATIONS: [Generation; 6] = [
    Generation { name: "v1", test: "tests/cpp/dispatcher_conv.cpp", defines: &[] },
    Generation { name: "v2", test: "tests/cpp/dispatcher_conv.cpp", defines: &[] },
    Generation { name: "v3", test: "tests/cpp/dispatcher_conv.cpp", defines: &[] },
    Generation { name: "g1", test: "tests/cpp/dispatcher_gemm.cpp", defines: &[] },
    Generation { name: "g2", test: "tests/cpp/dispatcher_gemm.cpp", defines: &["-DWITH_STREAM_K"] },
    Generation { name: "f1", test: "tests/cpp/dispatcher_fmha.cpp", defines: &[] },
];

/// Where the compiler finds a generation's headers.
fn headers(generation: &str) -> String {
    format!("-I{}", tools::source(&format!("cpp_examples/stand_in/{generation}")).display())
}

/// Builds a source against a generation and runs it. The program's own HIP functions must be found by name.
fn test(generation: &Generation, compiler: &str, standard: &str, flags: &[&str], name: &str) {
    let include = headers(generation.name);
    let mut arguments = vec!["-Wconversion", "-Wshadow", "-rdynamic", include.as_str()];
    arguments.extend(generation.defines);
    arguments.extend(flags);
    let name = format!("dispatcher_{}_{name}", generation.name);
    let program = tools::build(compiler, standard, &[generation.test], &arguments, &name);
    let printed = tools::run(Command::new(program).arg(tools::ROOT));
    assert!(printed.contains(": all right"), "{printed}");
}

/// With the first compiler under sanitizers, with the others as they are.
#[test]
fn every_generation_is_adapted() {
    let mut flags = &SANITIZERS[..];
    for compilers in tools::compilers() {
        for generation in &GENERATIONS {
            test(generation, compilers.cpp, "c++17", flags, "17");
        }
        flags = &[];
    }
}

#[test]
fn every_generation_compiles_as_cpp20() {
    for compilers in tools::compilers() {
        for generation in &GENERATIONS {
            let mut command = tools::compile(compilers.cpp, "c++20");
            command.args(["-Wconversion", "-Wshadow", "-fsyntax-only"]).arg(headers(generation.name));
            tools::run(command.args(generation.defines).arg(tools::source(generation.test)));
        }
    }
}

#[test]
fn headers_may_be_included_twice_and_by_two_sources() {
    let compiler = tools::compilers()[0].cpp;
    let include = headers("v3");
    let sources = ["tests/cpp/second.cpp", "cpp_examples/dispatcher_v3.cpp"];
    tools::build(compiler, "c++17", &sources, &[include.as_str()], "dispatcher_twice");
}

#[test]
fn the_newest_generation_of_each_operation_has_a_program() {
    for compilers in tools::compilers() {
        for generation in ["v3", "g2", "f1"] {
            let example = format!("dispatcher_{generation}");
            let source = format!("cpp_examples/{example}.cpp");
            let include = headers(generation);
            let arguments = ["-Wconversion", include.as_str()];
            let program = tools::build(compilers.cpp, "c++17", &[&source], &arguments, &example);
            examples::prints(&program, &[], &format!("{example}.txt"));
            let elsewhere = tools::run(Command::new(&program).current_dir(tools::scratch("elsewhere")));
            assert_eq!(elsewhere, tools::run(Command::new(&program).current_dir(tools::ROOT)));
        }
    }
}

/// The substitution of docs/adopting.md makes a dispatcher compare whole names.
#[test]
fn the_patch_makes_dispatchers_exact() {
    let compiler = tools::compilers()[0].cpp;
    for generation in GENERATIONS.iter().filter(|generation| generation.name.starts_with('v')) {
        let patched = tools::scratch("patched").join(generation.name);
        let _ = std::fs::remove_dir_all(&patched);
        copy(&tools::source("cpp_examples/stand_in"), &patched);
        let own = format!("{}/ck_tile/dispatcher/grouped_conv_registry.hpp", generation.name);
        let mut sed = Command::new("sed");
        sed.arg("-i").arg("-f").arg(tools::source("docs/ck-exact-names.sed"));
        tools::run(sed.arg(patched.join(&own)).arg(patched.join("conv_with_buffers.hpp")));
        let include = format!("-I{}", patched.join(generation.name).display());
        let name = format!("dispatcher_{}_patched", generation.name);
        let arguments = ["-rdynamic", "-DEXACT_NAMES", include.as_str()];
        let program = tools::build(compiler, "c++17", &[generation.test], &arguments, &name);
        let printed = tools::run(Command::new(program).arg(tools::ROOT));
        assert!(printed.contains("CK's dispatcher 60"), "{printed}");
    }
}

/// Headers of which nobody knows what they are would be read as the oldest generation, whose kernels are
/// asked nothing.
#[test]
fn a_mixture_of_generations_does_not_compile() {
    let mixed = tools::scratch("mixed_generations");
    let _ = std::fs::remove_dir_all(&mixed);
    copy(&tools::source("cpp_examples/stand_in"), &mixed);
    let header = mixed.join("conv_with_buffers.hpp");
    let text = std::fs::read_to_string(&header).unwrap();
    let asked = "[[nodiscard]] bool is_supported(";
    assert!(text.contains(asked));
    std::fs::write(
        &header,
        text.replace(asked, &format!("bool executable() const {{ return true; }}\n  {asked}")),
    )
    .unwrap();
    let printed =
        refused(tools::compilers()[0].cpp, &mixed.join("v2"), "tests/cpp/dispatcher_conv.cpp".as_ref());
    assert!(printed.contains("does not know this generation"), "{printed}");
}

/// What a compiler says of a source that it has to refuse.
fn refused(compiler: &str, headers: &Path, source: &Path) -> String {
    let mut command = tools::compile(compiler, "c++17");
    command.arg("-fsyntax-only").arg("-I").arg(headers).arg(Path::new(tools::ROOT).join(source));
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A runner takes the registry's address, as CK's dispatcher does; a selector does not, and says so first.
#[test]
fn a_selector_of_an_address_does_not_compile() {
    let file = tools::scratch("selector_of_address").join("selector.cpp");
    let program = "#include \"ck_select_dispatcher.hpp\"\n\
                   ck_select::GroupedConvSelector selector(\
                   &ck_tile::dispatcher::GroupedConvRegistry::instance());\n";
    std::fs::write(&file, program).unwrap();
    for compilers in tools::compilers() {
        let printed = refused(compilers.cpp, &tools::source("cpp_examples/stand_in/v3"), &file);
        let error = printed.lines().find(|line| line.contains("error:"));
        assert!(error.is_some_and(|line| line.contains("takes the registry itself")), "{printed}");
    }
}

/// Copies a folder with what is in it.
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// A checkout in which a declaration is another, a field and an enumerator are more and less, and a header is HIP.
/// Only the first was a difference.
#[test]
fn a_checkout_of_ck_is_compared_with_the_stand_ins() {
    let checkout = tools::scratch("check_ck").join("stand_in");
    let copy = |from: &str, to: &str, changes: &[(&str, &str)]| {
        let mut text = std::fs::read_to_string(tools::source("cpp_examples/stand_in").join(from)).unwrap();
        let to = checkout.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        for (before, after) in changes {
            assert!(text.contains(before), "{from}: {before}");
            text = text.replacen(before, after, 1);
        }
        std::fs::write(to, text).unwrap();
    };
    copy("base.hpp", "base.hpp", &[("Normal = 1, High = 2 }", "Normal = 1 }")]);
    let key = ("  int tile_m = 1,", "  int cluster = 1;\n  int tile_m = 1,");
    copy("conv_registry.hpp", "conv_registry.hpp", &[key]);
    let registry = "ck_tile/dispatcher/grouped_conv_registry.hpp";
    let problem = ("  int split_k = 1;\n", "  long split_k = 1;\n  int images = 1;\n  int more() const;\n");
    copy(&format!("v3/{registry}"), &format!("own/{registry}"), &[problem]);
    std::fs::write(checkout.join("own/ck_tile/dispatcher_fmha.hpp"), "#include <hip/no_such.h>\n").unwrap();
    // Its own fault, not HIP's; and a compiler that crashes when it comes to it.
    std::fs::write(checkout.join("own/ck_tile/dispatcher.hpp"), "#include <ck_tile/no_such.hpp>\n").unwrap();
    let bin = tools::scratch("check_ck").join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let crashing = bin.join("hipcc");
    let script = "#!/bin/sh
case \"$*\" in *dispatcher_v3*) kill -SEGV $$;; esac
for word; do shift
case $word in --offload-host-only) ;; hip) set -- \"$@\" c++;; *) set -- \"$@\" \"$word\";; esac
done
exec g++ \"$@\"
";
    std::fs::write(&crashing, script).unwrap();
    std::fs::set_permissions(&crashing, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new("python3");
    let done = command.arg(tools::source("packaging/check_ck.py")).arg(&checkout).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(!done.status.success() && said.contains("generation v3, 4 differences"), "{said}");
    let file = |name: &str| format!("  {}:", checkout.join(name).display());
    for (name, member, difference) in [
        (format!("own/{registry}"), "GroupedConvProblem::split_k", "the stand-in has int "),
        (format!("own/{registry}"), "GroupedConvProblem::images", "the stand-in has none, CK has int "),
        (
            "conv_registry.hpp".to_owned(),
            "GroupedConvKernelKey::cluster",
            "the stand-in has none, CK has int ",
        ),
        ("base.hpp".to_owned(), "Priority::High", "the stand-in has 2, CK has none"),
    ] {
        let said = said.lines().find(|line| line.contains(member)).unwrap_or(&said);
        let begins = said.starts_with(&file(&name)) && said.contains(": ck_tile::dispatcher::");
        assert!(begins && said.contains(&format!("{member}: {difference}")), "{said}");
    }
    for expected in [
        "fmha: not checked: CK's headers are HIP: put hipcc on PATH, or set HIPCXX\n",
        "gemm: not checked: give a whole checkout of composable_kernel, which has ck_tile/no_such.hpp\n",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    // A crash is no sign of HIP, and is counted even where another compiler can read the header.
    let mut command = Command::new("python3");
    command.arg(tools::source("packaging/check_ck.py")).arg(checkout.join("own"));
    let path = std::env::var_os("PATH").unwrap();
    let paths = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path))).unwrap();
    let done = command.env("PATH", paths).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        !done.status.success() && said.contains("hipcc dispatcher_v3.cpp: the compiler crashed: "),
        "{said}"
    );
}
