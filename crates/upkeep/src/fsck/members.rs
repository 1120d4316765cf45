//! Members of groups: each is checked like an array or group of its own, wherever it is, and once.

use super::finding::{Class, Finding, FindingKind};
use super::{FsckOptions, FsckReport, check_alone, sort};
use smalti_array::{ArrayPlace, Member, ObjectKind};
use smalti_format::names::GROUP_FOLDER;
use smalti_query::Phase;
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::HashSet;

/// Groups nest at most so deep in a check.
const MAX_GROUP_DEPTH: usize = 64;

/// What a check found in a member of a group.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemberReport {
    /// Its name behind those of the groups that it is in, such as `year/rain`.
    pub path: String,
    /// Its address.
    pub uri: String,
    /// What it is, as far as that can be told.
    pub kind: Option<ObjectKind>,
    /// Whether it is in the folder of the group that was asked for: a repair of that mends it too.
    pub is_inside: bool,
    /// What was found in it. Of a group this is the group alone; its members have reports of their own.
    pub report: FsckReport,
}

/// A group whose members are still to be checked.
struct Pending {
    place: ArrayPlace,
    path: String,
    depth: usize,
    /// Its place in the list of members; `None` for the group that was asked for.
    member: Option<usize>,
}

/// Checks the members of a group, and theirs; `own` is the report of the group, which takes what is wrong with its list.
///
/// # Errors
/// `Cancelled`. What else is wrong with a member is a finding.
pub(super) fn check_members(
    root: &ArrayPlace,
    options: &FsckOptions,
    own: &mut FsckReport,
) -> Result<Vec<(MemberReport, ArrayPlace)>> {
    let mut checked: Vec<(MemberReport, ArrayPlace)> = Vec::new();
    let mut seen = HashSet::from([root.identity()]);
    let first = Pending { place: root.clone(), path: String::new(), depth: 0, member: None };
    let mut pending = vec![first];
    while let Some(group) = pending.pop() {
        let mut findings = Vec::new();
        let mut inner = Vec::new();
        let members = group.place.members(TimeRange::ALL).unwrap_or_else(|error| {
            let finding =
                unchecked(format!("the members were not checked, as their list cannot be read: {error}"));
            findings.push(finding.not_mended("mend the list, then check again"));
            Vec::new()
        });
        for member in members {
            options.progress.as_ref().map_or(Ok(()), |progress| progress.check())?;
            let place = match group.place.member_place(&member) {
                Ok(place) => place,
                Err(error) => {
                    findings.push(unreached(&member, &error));
                    continue;
                }
            };
            let identity = place.identity();
            if seen.contains(&identity) {
                continue;
            }
            let report = match check_alone(&place, options, Phase::Checking) {
                Ok(report) => report,
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => {
                    findings.push(unreached(&member, &error));
                    continue;
                }
            };
            seen.insert(identity);
            let path = smalti_store::join(&group.path, member.key());
            let kind = place.object_kind().unwrap_or(None);
            findings.extend(mistaken(&member, kind));
            if kind == Some(ObjectKind::Group) {
                if group.depth + 1 < MAX_GROUP_DEPTH {
                    inner.push(Pending {
                        place: place.clone(),
                        path: path.clone(),
                        depth: group.depth + 1,
                        member: Some(checked.len()),
                    });
                } else {
                    let message = format!(
                        "the members of {:?} were not checked: groups are nested more than {MAX_GROUP_DEPTH} deep",
                        member.key()
                    );
                    findings.push(unchecked(message));
                }
            }
            let (uri, is_inside) = (place.uri(), root.holds(&place));
            checked.push((MemberReport { path, uri, kind, is_inside, report }, place));
        }
        let report = match group.member {
            Some(at) => &mut checked[at].0.report,
            None => &mut *own,
        };
        report.findings.extend(findings);
        sort(&mut report.findings);
        pending.extend(inner.into_iter().rev());
    }
    Ok(checked)
}

fn unchecked(message: String) -> Finding {
    Finding::new(FindingKind::MemberUnchecked, Class::Hidden, GROUP_FOLDER, message)
        .not_mended("check it where it can be reached, with its own key")
}

/// A member that could not be checked at all.
fn unreached(member: &Member, error: &Error) -> Finding {
    let key = member.key();
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
        return unchecked(format!("the member {key:?} was not checked: {error}"));
    }
    let message = format!("the member {key:?} is not there: {error}");
    Finding::new(FindingKind::MemberMissing, Class::Lost, GROUP_FOLDER, message)
        .not_mended(format!("bring it back, or take it off the list: `smalti group remove GROUP {key}`"))
}

/// A member that is something else than its group's list says.
fn mistaken(member: &Member, found: Option<ObjectKind>) -> Option<Finding> {
    let (listed, found) = (member.kind?, found?);
    (listed != found).then(|| {
        let message = format!("the member {:?} is listed as {listed}, a {found} is there", member.key());
        Finding::new(FindingKind::MemberMissing, Class::Misleading, GROUP_FOLDER, message)
            .not_mended("remove the member and add it again")
    })
}
