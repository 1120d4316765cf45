//! What may wait: cases and reads that need what is not there yet, each with the reason. Nothing else may fail.

use serde_json::Value;

/// Reads of these cases may be refused as unsupported, by the start of the case's name.
const CASES_WITH_REFUSED_READS: &[(&str, &str)] = &[("deletes", "delete conditions")];

/// These cases are not opened, by the start of their name.
const CASES: &[(&str, &str)] = &[("group", "groups")];

/// Reads that ask for this are not performed, by the key of the read.
const READS: &[(&str, &str)] = &[("cond", "query conditions")];

fn reason(table: &[(&str, &'static str)], case: &str) -> Option<&'static str> {
    table.iter().find(|(start, _)| case.starts_with(start)).map(|(_, reason)| *reason)
}

/// What a whole case waits for.
pub fn of_case(case: &str) -> Option<&'static str> {
    reason(CASES, case)
}

/// What reads of a case wait for, if they are refused as unsupported.
pub fn of_refused_read(case: &str) -> Option<&'static str> {
    reason(CASES_WITH_REFUSED_READS, case)
}

/// What a read waits for.
pub fn of_read(read: &Value) -> Option<&'static str> {
    READS.iter().find(|(key, _)| read.get(key).is_some()).map(|(_, reason)| *reason)
}
