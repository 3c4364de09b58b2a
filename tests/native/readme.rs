//! The programs of README.md, docs/c.md, `ck_select.h` and `ck_select.hpp` are compiled as they stand there,
//! and run.

use std::path::Path;
use std::process::Command;

use super::tools;

/// A page's block in a language that has this text, as its `#include` lines and the rest.
fn block(page: &str, language: &str, text: &str) -> (String, String) {
    let readme = std::fs::read_to_string(tools::source(page)).unwrap();
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    let found: Vec<&str> = blocks.filter(|block| block.contains(text)).collect();
    assert_eq!(found.len(), 1, "blocks in {language} with {text}");
    let (includes, rest): (Vec<&str>, Vec<&str>) =
        found[0].lines().partition(|line| line.starts_with("#include"));
    (includes.join("\n"), rest.join("\n"))
}

/// Compiles a program and runs it where the README's model lies; what it printed.
fn printed(mut compile: Command, name: &str, program_text: &str, extension: &str) -> String {
    let directory = tools::scratch(&format!("readme_{name}"));
    std::fs::create_dir_all(directory.join("models")).unwrap();
    let model = directory.join("models/my_model");
    if !model.exists() {
        let _ = std::fs::remove_file(&model);
        std::os::unix::fs::symlink(tools::source("tests/golden/models/conv_small"), &model).unwrap();
    }
    let file = directory.join(format!("{name}.{extension}"));
    std::fs::write(&file, program_text).unwrap();
    let program = directory.join(name);
    compile.arg(&file);
    tools::link(&mut compile, &program);
    tools::run(&mut compile);
    tools::run(Command::new(Path::new(&program)).current_dir(&directory))
}

const BEST: &str = "grouped_conv_forward_bf16_2d_128x128x64_compv5";

#[test]
fn the_c_program_runs() {
    let (includes, body) = block("docs/c.md", "c", "ck_registry_select_conv(");
    let text = format!(
        "{includes}\n#include <stdio.h>\n\
         static int chosen;\n\
         static void run(void *kernel) {{ printf(\"%s\\n\", (const char *)kernel); ++chosen; }}\n\
         static int32_t my_supports(const ck_conv_problem *problem, void *user) \
         {{ return problem->c > 0 && user; }}\n\
         int main(void) {{\n\
         static char first[] = \"first\", second[] = \"second\";\n\
         static const char *const names[] = {{\"grouped_conv_forward_bf16_2d_64x64x64_compv3\", \
         \"{BEST}\"}};\n\
         void *const my_kernels[] = {{first, second}};\n\
         const size_t count = 2;\n\
         {body}\n\
         ck_registry_destroy(registry);\nreturn chosen == 1 ? 0 : 1;\n}}\n"
    );
    for compilers in tools::compilers() {
        let compile = tools::compile(compilers.c, "c11");
        assert_eq!(printed(compile, &format!("c_{}", compilers.c), &text, "c"), "second\n");
    }
}

/// The program in a header's first comment.
fn program(header: &str) -> String {
    let text = std::fs::read_to_string(tools::source(header)).unwrap();
    let begin = text.find(" *     #include").unwrap();
    let rest = text[begin..].split_inclusive("\n *     }\n").next().unwrap();
    rest.lines().map(|line| line.trim_start_matches(" *").to_owned() + "\n").collect()
}

#[test]
fn the_headers_programs_run() {
    for compilers in tools::compilers() {
        for (header, compiler, standard, extension) in
            [("ck_select.h", compilers.c, "c11", "c"), ("ck_select.hpp", compilers.cpp, "c++17", "cpp")]
        {
            let compile = tools::compile(compiler, standard);
            let text = program(&format!("include/{header}"));
            let printed = printed(compile, &format!("header_{compiler}"), &text, extension);
            assert_eq!(printed, format!("{BEST}\n"));
        }
    }
}

#[test]
fn the_dispatchers_program_runs() {
    let (includes, body) = block("README.md", "cpp", "GroupedConvRunner");
    let lines = body.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines + includes.lines().count() <= 20, "the README promises a short one");
    // `using namespace` and everything after it stand in the middle of somebody's function.
    let text = format!(
        "{includes}\n#include <cstdio>\n\
         static void add(const char* name, int tile_m, const char* pipeline) {{\n\
           ck_tile::dispatcher::GroupedConvKernelKey key;\n\
           key.dtype_in = key.dtype_wei = key.dtype_out = \"bf16\";\n\
           key.layout = \"nhwgc\";\n\
           key.tile_m = tile_m;\n\
           key.tile_k = 64;\n\
           key.pipeline = pipeline;\n\
           key.arch = \"gfx950\";\n\
           using Instance = ck_tile::dispatcher::GroupedConvKernelInstance;\n\
           const auto run = [name](const ck_tile::dispatcher::GroupedConvProblem&, void*) {{\n\
             std::printf(\"%s\\n\", name);\n\
             return 1.0F;\n\
           }};\n\
           const auto instance = std::make_shared<Instance>(key, name, run);\n\
           ck_tile::dispatcher::GroupedConvRegistry::instance().register_kernel(key, instance);\n\
         }}\n\
         int main() {{\n\
           ck_tile::dispatcher::GroupedConvProblem problem;\n\
           problem.N = 16;\n\
           problem.C = 256;\n\
           problem.K = 128;\n\
           char input[1], weight[1], output[1];\n\
           add(\"small\", 64, \"compv3\");\n\
           add(\"large\", 128, \"compv5\");\n\
           {body}\n\
           std::printf(\"%s\\n\", kernel->name().c_str());\n\
           return 0;\n\
         }}\n"
    );
    for compilers in tools::compilers() {
        let mut compile = tools::compile(compilers.cpp, "c++17");
        compile.arg("-I").arg(tools::source("cpp_examples/stand_in/v2"));
        let printed = printed(compile, &format!("cpp_{}", compilers.cpp), &text, "cpp");
        assert_eq!(printed, "large\nlarge\n");
    }
}
