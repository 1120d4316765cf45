//! Names the library as the dynamic linker looks for it.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtiledb.so.2.30");
        // Names for C that dependencies have are not exported: what is, is what the headers say.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}
