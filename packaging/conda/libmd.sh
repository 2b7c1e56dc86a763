#!/bin/sh
# Builds libmd/ as an archive in libmd/built, for libraries that link it in and export none of it.
set -eu
cd libmd
./configure --prefix="$PWD/built" --libdir="$PWD/built/lib" --disable-shared --with-pic CFLAGS="${CFLAGS:--O2} -fvisibility=hidden"
make install
