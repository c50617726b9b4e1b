#!/bin/sh
# Builds quickjs.wasm from a checkout of quickjs-ng at the tag v0.16.2, commit
# $commit, and shim.c, with what Debian 12 has as the packages clang-19
# (1:19.1.7-3~deb12u1), lld-19, libclang-rt-19-dev-wasm32 and wasi-libc
# (0.0~git20220510.9886d3d-2). The same of these gives the same bytes.
#
#   ./build.sh path/to/quickjs
set -eu
commit=1ab8676f4b6d6d669baeb5f21790fb9734636a20
source=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$source" archive "$commit" | tar -x -C "$work"
cp "$here/shim.c" "$work"
cd "$work"
clang-19 --target=wasm32-wasi -mexec-model=reactor -O2 -fno-ident \
	-D_GNU_SOURCE -DNDEBUG -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL \
	-w shim.c dtoa.c libregexp.c libunicode.c \
	-lwasi-emulated-process-clocks -lwasi-emulated-signal \
	-Wl,--stack-first -Wl,-z,stack-size=1048576 -Wl,--export=__stack_pointer -Wl,--strip-all \
	-o quickjs.wasm
cp quickjs.wasm "$here/quickjs.wasm"
cd "$here"
sha256sum build.sh shim.c quickjs.wasm >SHA256SUMS
