#!/bin/sh
# Uses an installation of ck-select, in a folder with cpp_examples and the models of the tests: dist/fresh.sh runs it.
#
#     try.sh PREFIX LIBDIR
set -eux
prefix=$1
export PKG_CONFIG_PATH="$prefix/$2/pkgconfig"

"$prefix/bin/ckselect" rank --top 1 --model embedded:grouped_conv_forward_bf16_gfx950 \
    --pool "$prefix/share/ck-select/configs/forward_bf16.txt" \
    --problem 'N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1'
"$prefix/bin/ckselect" inspect --model "$prefix/share/ck-select/models/grouped_conv_forward_bf16_gfx950" --format csv >/dev/null
"$prefix/bin/ckselect" dev completions bash | cmp - "$prefix/share/bash-completion/completions/ckselect"

# shellcheck disable=SC2046 # words on purpose
cc cpp_examples/c_minimal.c -o by_pkg_config $(pkg-config --cflags --libs ck_select) "-Wl,-rpath,$prefix/$2"
./by_pkg_config | cmp - cpp_examples/expected/c_minimal.txt

cmake -S cpp_examples -B build "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
cmake --build build --target c_minimal_static conv_get_solution
build/c_minimal_static | cmp - cpp_examples/expected/c_minimal.txt
# Without the last columns, which hold times.
build/conv_get_solution tests/golden/models/conv_small | cut -c-82 >found
cut -c-82 cpp_examples/expected/conv_get_solution.txt | cmp - found
