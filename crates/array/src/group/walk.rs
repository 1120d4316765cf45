//! Members of members: a walk that ends whatever the lists say.

use super::Member;
use super::member::path_below;
use crate::object::MAX_DEPTH;
use crate::{ArrayPlace, ObjectKind};
use smalti_types::{Error, Result, TimeRange};
use std::collections::HashSet;

/// A member that a walk came to.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The group that lists it.
    pub group: ArrayPlace,
    /// The member, as its group lists it.
    pub member: Member,
    /// How many groups it is below the first one: 0 for members of that.
    pub depth: usize,
    /// Where it is, unless its URI is illegal or leads to storage that this release does not know.
    pub place: Result<ArrayPlace>,
    /// What the walk did there.
    pub branch: Branch,
}

/// What a walk did with a member.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Branch {
    /// It is no group.
    Leaf,
    /// It is a group whose members come next.
    Entered,
    /// It is a group whose members came before, or come later: nested groups may form circles.
    Known,
    /// It is a group outside the folder of the first one, and the walk was to stay inside.
    Outside,
    /// It is a group below too many others.
    TooDeep,
    /// It is listed as a group, but none can be read there.
    Unreadable(Error),
}

/// A walk over the members of a group and of the groups among them, each group before its members and entered once.
///
/// Made by [`ArrayPlace::walk_members`].
#[derive(Debug)]
pub struct MemberWalk {
    root: String,
    time: TimeRange,
    leaves_root: bool,
    entered: HashSet<String>,
    /// The group that is being listed, below those above it, with the members still to come.
    levels: Vec<(ArrayPlace, std::vec::IntoIter<Member>)>,
}

impl ArrayPlace {
    /// Walks over the members in a time range, and over theirs. Groups outside the folder of this one are named, and
    /// entered only if `leaves_root`.
    ///
    /// # Errors
    /// As [`members`](ArrayPlace::members) for this group. What is wrong further down is told where it is met.
    pub fn walk_members(&self, time: TimeRange, leaves_root: bool) -> Result<MemberWalk> {
        let members = self.members(time)?;
        let root = self.identity();
        Ok(MemberWalk {
            time,
            leaves_root,
            entered: HashSet::from([root.clone()]),
            root,
            levels: vec![(self.clone(), members.into_iter())],
        })
    }
}

impl Iterator for MemberWalk {
    type Item = Visit;

    fn next(&mut self) -> Option<Visit> {
        let (group, member) = loop {
            let (group, members) = self.levels.last_mut()?;
            match members.next() {
                Some(member) => break (group.clone(), member),
                None => drop(self.levels.pop()),
            }
        };
        let depth = self.levels.len() - 1;
        let place = group.member_place(&member);
        let branch = match &place {
            _ if member.kind != Some(ObjectKind::Group) => Branch::Leaf,
            Ok(place) => self.enter(place),
            Err(error) => Branch::Unreadable(error.clone()),
        };
        Some(Visit { group, member, depth, place, branch })
    }
}

impl MemberWalk {
    fn enter(&mut self, place: &ArrayPlace) -> Branch {
        let identity = place.identity();
        if self.entered.contains(&identity) {
            return Branch::Known;
        }
        if !self.leaves_root && path_below(&self.root, &identity).is_none() {
            return Branch::Outside;
        }
        if self.levels.len() >= MAX_DEPTH {
            return Branch::TooDeep;
        }
        match place.members(self.time) {
            Ok(members) => {
                self.entered.insert(identity);
                self.levels.push((place.clone(), members.into_iter()));
                Branch::Entered
            }
            Err(error) => Branch::Unreadable(error),
        }
    }
}
