//! A test per format version.

use super::tally::{Outcome, of_version};

fn check(version: u32) {
    let outcomes = of_version(version);
    let failed: Vec<String> = outcomes.iter().filter_map(describe_failure).collect();
    assert!(failed.is_empty(), "{} of {} cases fail:\n{}", failed.len(), outcomes.len(), failed.join("\n"));
    assert!(!outcomes.is_empty(), "the archive of version {version} holds no case");
}

fn describe_failure(outcome: &Outcome) -> Option<String> {
    let failure = outcome.result.as_ref().err()?;
    Some(format!("{}: {}", outcome.name, failure.message))
}

macro_rules! a_test_per_version {
    ($($version:literal $name:ident,)*) => {$(
        #[test]
        fn $name() {
            check($version);
        }
    )*};
}

a_test_per_version! {
    1 version_01_reads_as_expected,
    2 version_02_reads_as_expected,
    3 version_03_reads_as_expected,
    4 version_04_reads_as_expected,
    5 version_05_reads_as_expected,
    6 version_06_reads_as_expected,
    7 version_07_reads_as_expected,
    8 version_08_reads_as_expected,
    9 version_09_reads_as_expected,
    10 version_10_reads_as_expected,
    11 version_11_reads_as_expected,
    12 version_12_reads_as_expected,
    13 version_13_reads_as_expected,
    14 version_14_reads_as_expected,
    15 version_15_reads_as_expected,
    16 version_16_reads_as_expected,
    17 version_17_reads_as_expected,
    18 version_18_reads_as_expected,
    19 version_19_reads_as_expected,
    20 version_20_reads_as_expected,
    21 version_21_reads_as_expected,
    22 version_22_reads_as_expected,
    23 version_23_reads_as_expected,
}
