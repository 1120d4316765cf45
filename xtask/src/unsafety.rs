//! Where `unsafe` may stand: every crate forbids it, but for the modules named here.

use crate::sources::{SourceFile, relative};
use crate::workspace::Workspace;
use std::path::Path;

/// A module that may hold `unsafe` code. Its crate denies it everywhere else.
struct Exception {
    /// The crate's folder, from the root of the workspace.
    crate_folder: &'static str,
    /// The one file, from the root of the workspace.
    module: &'static str,
    /// Why safe code will not do.
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        crate_folder: "crates/capi",
        module: "crates/capi/src/boundary/entry.rs",
        reason: "names that C finds are unsafe attributes",
    },
    Exception {
        crate_folder: "crates/capi",
        module: "crates/capi/src/boundary/handle.rs",
        reason: "handles are pointers that C keeps",
    },
    Exception {
        crate_folder: "crates/capi",
        module: "crates/capi/src/boundary/memory.rs",
        reason: "the caller's memory is behind pointers",
    },
    Exception {
        crate_folder: "crates/capi",
        module: "crates/capi/src/boundary/throws.rs",
        reason: "exceptions of C++ are caught by hand",
    },
    Exception {
        crate_folder: "crates/capi",
        module: "crates/capi/tests/c.rs",
        reason: "the tests call the entries as C does",
    },
    Exception {
        crate_folder: "crates/codecs",
        module: "crates/codecs/tests/hostile_bytes.rs",
        reason: "an allocator that counts is an unsafe trait; the library itself has no unsafe code",
    },
    Exception {
        crate_folder: "crates/python",
        module: "crates/python/src/capsule.rs",
        reason: "Arrow's capsules hold structures of C",
    },
    Exception {
        crate_folder: "crates/python",
        module: "crates/python/src/memory.rs",
        reason: "Python's buffer protocol hands out addresses",
    },
    Exception {
        crate_folder: "crates/types",
        module: "crates/types/src/pages.rs",
        reason: "advice about memory can take its content away, so that no safe function gives it",
    },
    Exception {
        crate_folder: "crates/types",
        module: "crates/types/src/stores.rs",
        reason: "stores past the caches are instructions that no safe function gives",
    },
    Exception {
        crate_folder: "tests",
        module: "tests/src/counting.rs",
        reason: "an allocator that counts is an unsafe trait",
    },
    Exception {
        crate_folder: "tests",
        module: "tests/src/forked.rs",
        reason: "a test of forked processes forks",
    },
];

/// The file whose table and tests name what they look for.
const THIS_FILE: &str = "xtask/src/unsafety.rs";

const FORBID: &str = "#![forbid(unsafe_code)]";
const DENY: &str = "#![deny(unsafe_code)]";

/// Crates that do not forbid `unsafe`, files that allow it without being named above, and names above
/// that no file bears; a line each.
pub(crate) fn violations(workspace: &Workspace, files: &[SourceFile]) -> Vec<String> {
    let roots = workspace.packages.iter().flat_map(|package| &package.roots);
    let roots = roots.filter_map(|root| root_violation(&relative(root, &workspace.root), files, EXCEPTIONS));
    let allowing = files.iter().filter_map(|file| allowance_violation(file, EXCEPTIONS));
    roots.chain(allowing).chain(stale_exceptions(files, EXCEPTIONS)).collect()
}

fn root_violation(root: &str, files: &[SourceFile], exceptions: &[Exception]) -> Option<String> {
    let text = files.iter().find(|file| file.path == root).map_or("", |file| &file.text);
    let has = |attribute: &str| text.lines().any(|line| line.trim() == attribute);
    let exception = exceptions.iter().find(|exception| Path::new(root).starts_with(exception.crate_folder));
    match exception {
        _ if has(FORBID) => None,
        Some(_) if has(DENY) => None,
        Some(exception) => {
            Some(format!("{root}: does not say {DENY} ({}: {})", exception.module, exception.reason))
        }
        None => Some(format!("{root}: does not say {FORBID}")),
    }
}

fn allowance_violation(file: &SourceFile, exceptions: &[Exception]) -> Option<String> {
    let named = file.path == THIS_FILE || exceptions.iter().any(|exception| exception.module == file.path);
    if named || !file.path.ends_with(".rs") {
        return None;
    }
    let allows = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        ["allow(unsafe_code", "expect(unsafe_code"].iter().any(|allowance| code.contains(allowance))
    };
    let at = file.text.lines().position(allows)?;
    Some(format!("{}:{}: allows unsafe code; name the module in {THIS_FILE}", file.path, at + 1))
}

fn stale_exceptions(files: &[SourceFile], exceptions: &[Exception]) -> Vec<String> {
    let gone = exceptions.iter().filter(|exception| files.iter().all(|file| file.path != exception.module));
    gone.map(|exception| format!("{THIS_FILE}: {} does not exist; drop its row", exception.module)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODECS: &[Exception] =
        &[Exception { crate_folder: "crates/codecs", module: "crates/codecs/src/simd.rs", reason: "SIMD" }];

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_crate_forbids_unsafe_in_its_root() {
        let good = [file("crates/a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\nmod b;\n")];
        assert_eq!(root_violation("crates/a/src/lib.rs", &good, &[]), None);
        let bad = [file("crates/a/src/lib.rs", "//! #![forbid(unsafe_code)]\n#![deny(unsafe_code)]\n")];
        assert!(root_violation("crates/a/src/lib.rs", &bad, &[]).is_some());
    }

    #[test]
    fn an_exception_for_a_file_that_is_gone_fails() {
        assert_eq!(stale_exceptions(&[], CODECS).len(), 1);
        assert_eq!(stale_exceptions(&[file("crates/codecs/src/simd.rs", "")], CODECS).len(), 0);
    }

    #[test]
    fn an_exception_denies_unsafe_outside_one_module() {
        let root = [file("crates/codecs/src/lib.rs", "#![deny(unsafe_code)]\n")];
        assert_eq!(root_violation("crates/codecs/src/lib.rs", &root, CODECS), None);
        let module = file("crates/codecs/src/simd.rs", "#![allow(unsafe_code)]");
        assert_eq!(allowance_violation(&module, CODECS), None);
        let other = file("crates/codecs/src/other.rs", "\n#![allow(unsafe_code)]");
        assert_eq!(
            allowance_violation(&other, CODECS).as_deref(),
            Some(
                "crates/codecs/src/other.rs:2: allows unsafe code; name the module in xtask/src/unsafety.rs"
            )
        );
    }
}
