//! Members come and go: each change is one file.

use super::member::path_below;
use super::{Member, MemberList, NEWEST_VERSION};
use crate::history;
use crate::stamp::next_timestamp;
use crate::{ArrayPlace, ObjectKind};
use smalti_format::GroupFile;
use smalti_format::names::{GROUP_FOLDER, last_part};
use smalti_types::{Error, ErrorKind, Result, TimeRange};
use std::collections::BTreeMap;

/// A member to add.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NewMember {
    /// Where it is. A relative URI stays inside the group's folder; an absolute one has a scheme or starts with a slash.
    pub uri: String,
    /// Whether the URI counts from the group's folder, so that it survives a move of the group.
    pub is_relative: bool,
    /// The name in the group; unnamed members are known by their URI.
    pub name: Option<String>,
    /// What it is; `None` looks.
    pub kind: Option<ObjectKind>,
    /// Whether it takes the place of a member of the same name, which is an error otherwise.
    pub replaces: bool,
}

impl NewMember {
    /// A member in the group's folder, its URI counting from there. Its name is the last part of the URI.
    pub fn relative(uri: impl Into<String>) -> NewMember {
        let uri = uri.into();
        let name = Some(last_part(&uri).to_owned()).filter(|name| !name.is_empty());
        NewMember { uri, is_relative: true, name, kind: None, replaces: false }
    }

    /// A member anywhere, its URI with a scheme or an absolute path. Its name is the last part of the URI.
    pub fn absolute(uri: impl Into<String>) -> NewMember {
        NewMember { is_relative: false, ..NewMember::relative(uri) }
    }

    /// Leaves out the name: the group knows the member by its URI.
    #[must_use]
    pub fn unnamed(mut self) -> NewMember {
        self.name = None;
        self
    }

    /// Sets the name in the group.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> NewMember {
        self.name = Some(name.into());
        self
    }

    /// States what it is, so that nobody looks: for what is not there yet, or cannot be reached.
    #[must_use]
    pub fn kind(mut self, kind: ObjectKind) -> NewMember {
        self.kind = Some(kind);
        self
    }

    /// Takes the place of a member of the same name, if there is one.
    #[must_use]
    pub fn replacing(mut self) -> NewMember {
        self.replaces = true;
        self
    }
}

/// A URI with a scheme, or that starts with a slash, is absolute, any other relative to the group's folder.
impl From<&str> for NewMember {
    fn from(uri: &str) -> NewMember {
        if uri.starts_with('/') || uri.contains("://") {
            NewMember::absolute(uri)
        } else {
            NewMember::relative(uri)
        }
    }
}

/// A change of a group's members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MemberEdit {
    /// Adds a member.
    Add(NewMember),
    /// Takes a member off the list, by its name or its URI. What it points to stays as it is.
    Remove(String),
}

impl ArrayPlace {
    /// Changes the members of the group as one file, atomic and durable: all changes, or none. Returns the time of the change, in
    /// milliseconds since 1970.
    ///
    /// At the time of the change a name that is added must be free, or be removed by the same change, or the member must
    /// say that it replaces; what is removed must be there.
    ///
    /// # Errors
    /// `NotFound` when no group is here, no such member to remove, or nothing where an added one of no stated kind points;
    /// `AlreadyExists` for a name or URI that is taken; `InvalidArgument` for no changes, a name changed twice, an illegal URI,
    /// and a URI to remove that several members have; what the store reports.
    pub fn put_members(&self, edits: &[MemberEdit], at: Option<u64>) -> Result<u64> {
        if edits.is_empty() {
            return Err(Error::invalid("there are no members to add or to remove"));
        }
        let time = next_timestamp(self.env(), at);
        let before = self.member_list(TimeRange::until(time))?;
        let (mut removed, mut added) = (BTreeMap::new(), BTreeMap::new());
        for edit in edits {
            if let MemberEdit::Remove(name_or_uri) = edit {
                let member = self.find_member(&before, name_or_uri)?;
                if removed.insert(member.key().to_owned(), member.clone()).is_some() {
                    return Err(Error::invalid(format!("the member {name_or_uri:?} is removed twice")));
                }
            }
        }
        for edit in edits {
            let MemberEdit::Add(new) = edit else { continue };
            let member = self.checked_member(new)?;
            let key = member.key().to_owned();
            if !removed.contains_key(&key)
                && !new.replaces
                && let Some(other) = before.members.get(&key)
            {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    format!(
                        "the group has a member {key:?} already, at {:?}; give this one another name (--name), replace that one \
                         (--replace), or remove it first",
                        other.uri
                    ),
                )
                .at_uri(self.uri()));
            }
            if added.insert(key.clone(), member).is_some() {
                return Err(Error::invalid(format!(
                    "the member {key:?} is added twice; give one of them another name (--name)"
                )));
            }
        }
        removed.retain(|key, _| !added.contains_key(key));
        self.put_changes(before, &removed, added, time)?;
        Ok(time)
    }

    /// A place as a member to add: relative if it is in the group's folder, and absolute otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` for the group itself.
    pub fn new_member(&self, place: &ArrayPlace) -> Result<NewMember> {
        let (group, address) = (self.identity(), place.identity());
        match path_below(&group, &address) {
            Some(below) => Ok(NewMember::relative(below)),
            None if group == address => {
                Err(Error::invalid("a group cannot be its own member").at_uri(address))
            }
            None => Ok(NewMember::absolute(address)),
        }
    }

    fn put_changes(
        &self,
        before: MemberList,
        removed: &BTreeMap<String, Member>,
        added: BTreeMap<String, Member>,
        time: u64,
    ) -> Result<()> {
        let version = before.version;
        let name = history::new_name(self, time)?;
        let (name, members) = if version < NEWEST_VERSION {
            let mut members = before.members;
            members.retain(|key, _| !removed.contains_key(key));
            members.extend(added);
            // Releases before 2.19 know the files of version 1 by the shape of their names.
            (name.to_string(), members.values().map(|member| member.to_stored(version, false)).collect())
        } else {
            let gone = removed.values().map(|member| member.to_stored(version, true));
            let come = added.values().map(|member| member.to_stored(version, false));
            (format!("{name}_{version}"), gone.chain(come).collect())
        };
        history::put(self, GROUP_FOLDER, &name, &GroupFile { version, members }.encode()?)
    }

    /// A new member in the form in which it is stored, its kind known.
    fn checked_member(&self, new: &NewMember) -> Result<Member> {
        let invalid = |error: Error| Error::invalid(error.message()).at_uri(self.uri());
        if let Some(name) = new.name.as_ref().filter(|name| name.is_empty() || name.contains('\0')) {
            return Err(Error::invalid(format!("{name:?} cannot be the name of a member")).at_uri(self.uri()));
        }
        let uri = match new.uri.trim_end_matches('/') {
            path if !new.is_relative && path.starts_with('/') => format!("file://{path}"),
            uri => uri.to_owned(),
        };
        let mut member = Member { uri, is_relative: new.is_relative, kind: new.kind, name: new.name.clone() };
        let place = match self.member_place(&member) {
            Ok(place) => place,
            // Other programs may reach what this one cannot.
            Err(error) if error.kind() == ErrorKind::Unsupported && new.kind.is_some() => return Ok(member),
            Err(error) if error.kind() == ErrorKind::Corrupt => return Err(invalid(error)),
            Err(error) => return Err(error),
        };
        if new.is_relative {
            smalti_store::check_path(&member.uri).map_err(|_| {
                Error::invalid(format!(
                    "the relative URI {:?} of a member cannot have `.`, `..` or empty parts; give an absolute URI for \
                     what is outside the group",
                    new.uri
                ))
                .at_uri(self.uri())
            })?;
        } else if place.identity() == self.identity() {
            return Err(Error::invalid("a group cannot be its own member").at_uri(self.uri()));
        }
        if member.kind.is_none() {
            member.kind = place.object_kind()?;
        }
        if member.kind.is_none() {
            let message = "neither an array nor a group is here; state the kind to list it all the same";
            return Err(Error::not_found(message).at_uri(place.uri()));
        }
        Ok(member)
    }

    /// The member of a name, or the only one of a URI as it is stored or as it leads to.
    fn find_member<'a>(&self, list: &'a MemberList, name_or_uri: &str) -> Result<&'a Member> {
        if let Some(member) = list.members.get(name_or_uri) {
            return Ok(member);
        }
        let wanted = name_or_uri.strip_prefix("file://").unwrap_or(name_or_uri).trim_end_matches('/');
        let has_uri = |member: &&Member| {
            member.uri.strip_prefix("file://").unwrap_or(&member.uri).trim_end_matches('/') == wanted
                || self.member_place(member).is_ok_and(|place| place.uri() == wanted)
        };
        let mut found = list.members.values().filter(has_uri);
        match (found.next(), found.next()) {
            (Some(member), None) => Ok(member),
            (Some(_), Some(_)) => Err(Error::invalid(format!(
                "several members have the URI {name_or_uri:?}; remove one by its name"
            ))
            .at_uri(self.uri())),
            (None, _) => {
                let names: Vec<&str> = list.members.keys().map(|name| name.as_str()).collect();
                Err(Error::not_found(match names.is_empty() {
                    true => format!("the group has no member {name_or_uri:?}; it is empty"),
                    false => format!("the group has no member {name_or_uri:?}; it has {}", names.join(", ")),
                })
                .at_uri(self.uri()))
            }
        }
    }
}
