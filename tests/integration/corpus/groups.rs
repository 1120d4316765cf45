//! Groups: members and metadata, and what the members are.

use super::case::{Case, Failure};
use super::metadata::check_items;
use super::reads::place;
use serde_json::{Value, json};
use smalti_array::{Member, ObjectKind};
use smalti_format::names::{GROUP_FOLDER, TimestampedName};
use smalti_types::TimeRange;

/// What stands for absolute URIs, which differed from machine to machine; the newest release's view has the paths.
const ABSOLUTE: &str = "absolute URI of m1 at the place of writing";

pub fn check(case: &Case) -> Result<(), Failure> {
    let place = place(case)?;
    let expected = &case.expected["group"];
    let mut wanted = members_of(expected);
    for (member, newest) in wanted.iter_mut().zip(members_of(&case.expected["group_seen_by_newest"])) {
        if member["uri"] == ABSOLUTE {
            let path = newest["uri"].as_str().unwrap_or_default();
            member["uri"] = json!(format!("file://{path}"));
        }
    }
    let found = place.members(TimeRange::ALL)?;
    if sorted(found.iter().map(described).collect()) != sorted(wanted.clone()) {
        return Err(format!("members {found:?}, expected {wanted:?}").into());
    }
    for member in found.iter().filter(|member| member.is_relative) {
        if place.member_place(member)?.object_kind()? != member.kind {
            return Err(format!("{member:?} is not what its group says").into());
        }
    }
    check_times(case, found.len())?;
    let items = expected["metadata"].as_array().map_or(&[][..], Vec::as_slice);
    check_items(&place.metadata(TimeRange::ALL)?, items, "of the group")
}

/// Before its first file a group has no members; the one that went was there after the file before the last.
fn check_times(case: &Case, last_count: usize) -> Result<(), Failure> {
    let place = place(case)?;
    let mut times = Vec::new();
    for entry in place.store().list(&place.join(GROUP_FOLDER))? {
        times.push(TimestampedName::parse(&entry.name)?.range().end);
    }
    times.sort_unstable();
    let count_at = |time: u64| place.members(TimeRange::until(time)).map(|members| members.len());
    let counts = times.iter().map(|&time| count_at(time)).collect::<Result<Vec<_>, _>>()?;
    let wanted: &[usize] = if times.len() == 1 { &[1] } else { &[3, 4, 3] };
    let before = times.first().map_or(Ok(0), |first| count_at(first - 1))?;
    if counts != wanted || counts.last() != Some(&last_count) || before != 0 {
        return Err(format!("{before}, then {counts:?} members at {times:?}").into());
    }
    Ok(())
}

fn members_of(group: &Value) -> Vec<Value> {
    group["members"].as_array().cloned().unwrap_or_default()
}

fn described(member: &Member) -> Value {
    json!({"uri": member.uri, "type": member.kind.map(ObjectKind::name), "name": member.name})
}

fn sorted(mut members: Vec<Value>) -> Vec<Value> {
    members.sort_by_key(Value::to_string);
    members
}
