//! The members of a group.

use crate::failure::Outcome;
use crate::formats::Table;
use serde_json::{Value as Json, json};
use smalti::{Branch, Member, ObjectKind, Visit};
use std::io::Write;

/// The members of a walk as JSON, with those of groups inside of them.
pub fn tree_json(visits: &[Visit]) -> Vec<Json> {
    nested(&mut visits.iter().peekable(), 0)
}

/// The members of a walk as a tree below the name of its group.
///
/// # Errors
/// Those of the output.
pub fn tree_text(group: &str, visits: &[Visit], out: &mut dyn Write) -> Outcome {
    writeln!(out, "{group}")?;
    for (line, visit) in branches(visits).into_iter().zip(visits) {
        let Visit { member, branch, .. } = visit;
        let uri = if member.name().is_some() { format!("  {}", member.uri()) } else { String::new() };
        writeln!(out, "{line}{}  {}{uri}{}", member.key(), kind(member), remark(branch))?;
    }
    Ok(())
}

/// Members as a table.
///
/// # Errors
/// Those of the output.
pub fn members_text(members: &[Member], out: &mut dyn Write) -> Outcome {
    let mut table = Table::new(["name", "kind", "uri"].map(|title| (title.to_string(), false)));
    for member in members {
        table.push(vec![
            member.name().unwrap_or_default().to_string(),
            kind(member).to_string(),
            member.uri().to_string(),
        ]);
    }
    Ok(table.print(out)?)
}

/// A member as JSON.
pub fn member_json(member: &Member) -> Json {
    json!({
        "name": member.name(),
        "kind": member.kind().map(ObjectKind::name),
        "uri": member.uri(),
        "relative": member.is_relative(),
        "address": member.address().ok(),
        "inside": member.is_inside(),
    })
}

fn kind(member: &Member) -> &'static str {
    member.kind().map_or("unknown", ObjectKind::name)
}

fn remark(branch: &Branch) -> String {
    match branch {
        Branch::Leaf | Branch::Entered => String::new(),
        Branch::Known => "  (listed elsewhere)".into(),
        Branch::Outside => "  (outside the group; --follow lists its members)".into(),
        Branch::TooDeep => "  (too deep)".into(),
        Branch::Unreadable(error) => format!("  ({error})"),
        other => format!("  ({other:?})"),
    }
}

/// The lines of a tree in front of its members.
fn branches(visits: &[Visit]) -> Vec<String> {
    // From the end: whether another member of each depth follows in the same group.
    let mut follows: Vec<bool> = Vec::new();
    let mut lines: Vec<String> = visits
        .iter()
        .rev()
        .map(|visit| {
            follows.resize(visit.depth + 1, false);
            let above = follows.iter().take(visit.depth);
            let line: String = above.map(|&follows| if follows { "│   " } else { "    " }).collect();
            let is_last = !std::mem::replace(&mut follows[visit.depth], true);
            line + if is_last { "└── " } else { "├── " }
        })
        .collect();
    lines.reverse();
    lines
}

/// The members of a depth with those below them.
fn nested<'a>(visits: &mut std::iter::Peekable<std::slice::Iter<'a, Visit>>, depth: usize) -> Vec<Json> {
    let mut members = Vec::new();
    while let Some(visit) = visits.next_if(|visit| visit.depth == depth) {
        let mut json = member_json(&visit.member);
        match &visit.branch {
            Branch::Leaf => {}
            Branch::Entered => json["members"] = nested(visits, depth + 1).into(),
            Branch::Unreadable(error) => json["error"] = error.to_string().into(),
            other => json["remark"] = remark(other).trim().trim_matches(['(', ')']).into(),
        }
        members.push(json);
    }
    members
}
