//! Groups of arrays and of groups.

use crate::{Array, IntoTimestamp, Metadata, MetadataBuilder, Options};
use smalti_array::{ArrayPlace, Branch, DeletedGroup, MemberEdit, NewMember, ObjectKind};
use smalti_types::{Error, Result, TimeRange};

/// A group: a folder that lists arrays and other groups as its members, and has metadata of its own.
///
/// Members may be in the group's folder, where they move with it, or anywhere else; one array can be a member of several
/// groups. A handle shows the group in the time range in which it was opened; of what others change in that range it shows
/// what is there when it is asked. Opened [at a time](Options::at), it shows that time, and changes without a time of their
/// own still happen now. Members and metadata of a group with a [key](Options::key) are encrypted.
///
/// ```
/// use smalti::{Array, Dimension, prelude::*};
/// use smalti::NewMember;
///
/// let schema = Schema::dense().dimension(Dimension::new("x", 0..=9)).attribute(Attribute::of::<f32>("a")).build()?;
/// let weather = Group::create("mem://group-docs")?;
/// Array::create("mem://group-docs/rain", &schema)?;
/// Array::create("mem://elsewhere-docs/snow", &schema)?;
///
/// weather.add("rain")?;
/// weather.add(NewMember::absolute("mem://elsewhere-docs/snow").name("snow"))?;
/// weather.write_metadata().put("station", "Zugspitze").commit()?;
///
/// let names: Vec<String> = weather.members()?.iter().map(|member| member.key().to_owned()).collect();
/// assert_eq!(names, ["rain", "snow"]);
/// assert_eq!(weather.array("snow")?.schema().attributes.len(), 1);
/// # Ok::<(), smalti::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Group {
    place: ArrayPlace,
    /// The symbolic link that it was opened by.
    link: Option<ArrayPlace>,
    time: TimeRange,
    options: Options,
}

impl Group {
    /// Creates a group without members; its folder appears at once, or not at all.
    ///
    /// # Errors
    /// `AlreadyExists` when something is at the URI, with what it is; `InvalidArgument` for a URI that names nothing.
    ///
    /// ```
    /// use smalti::{ErrorKind, Group};
    ///
    /// Group::create("mem://group-create-docs")?;
    /// let error = Group::create("mem://group-create-docs").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    /// assert!(error.message().contains("a group is here already"));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn create(uri: &str) -> Result<Group> {
        Group::create_with(uri, &Options::new())
    }

    /// Creates a group with another durability, clock or key: the key encrypts what is written to the group later.
    ///
    /// # Errors
    /// As [`create`](Group::create).
    pub fn create_with(uri: &str, options: &Options) -> Result<Group> {
        options.time()?;
        options.place(uri)?.create_group()?;
        Group::open_with(uri, options)
    }

    /// Opens a group as it is now.
    ///
    /// # Errors
    /// `NotFound` when no group is there, with what else is.
    pub fn open(uri: &str) -> Result<Group> {
        Group::open_with(uri, &Options::new())
    }

    /// Opens a group at a time, with a key, or with other surroundings.
    ///
    /// # Errors
    /// As [`open`](Group::open); `InvalidArgument` for an inverted time range.
    ///
    /// ```
    /// use smalti::{Group, NewMember, ObjectKind, Options};
    ///
    /// let group = Group::create("mem://group-open-docs")?;
    /// group.write_members().add(NewMember::relative("a").kind(ObjectKind::Array)).at(1000).commit()?;
    /// group.write_members().remove("a").at(2000).commit()?;
    ///
    /// assert_eq!(group.members()?.len(), 0);
    /// let then = Group::open_with("mem://group-open-docs", &Options::new().at(1999))?;
    /// assert_eq!(then.members()?.len(), 1);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn open_with(uri: &str, options: &Options) -> Result<Group> {
        let (place, time) = (options.place(uri)?, options.time()?);
        place.expect_group()?;
        Ok(Group { place, link: options.link(uri)?, time, options: options.clone() })
    }

    /// The group's address: an absolute path or a URI.
    pub fn uri(&self) -> String {
        self.place.uri()
    }

    /// The members in the time range, sorted by name, or by URI where they have none.
    ///
    /// # Errors
    /// `NotFound` when the group has gone; `Corrupt` and `Permission`, with the file named.
    pub fn members(&self) -> Result<Vec<Member>> {
        let members = self.here()?.members(self.time)?;
        Ok(members.into_iter().map(|member| self.member_of(member)).collect())
    }

    /// The member of a name, or of a URI among those without a name.
    ///
    /// # Errors
    /// `NotFound` when there is none; as [`members`](Group::members).
    pub fn member(&self, name: &str) -> Result<Member> {
        let members = self.members()?;
        let keys: Vec<String> = members.iter().map(|member| member.key().to_owned()).collect();
        members.into_iter().find(|member| member.key() == name).ok_or_else(|| {
            Error::not_found(match keys.is_empty() {
                true => format!("the group has no member {name:?}; it is empty"),
                false => format!("the group has no member {name:?}; it has {}", keys.join(", ")),
            })
            .at_uri(self.uri())
        })
    }

    /// Opens the array that a member is, in the time range and with the key of the group.
    ///
    /// # Errors
    /// As [`member`](Group::member) and [`Array::open`].
    pub fn array(&self, name: &str) -> Result<Array> {
        Array::open_with(&self.member(name)?.address()?, &self.options)
    }

    /// Opens the group that a member is, in the time range and with the key of this group.
    ///
    /// # Errors
    /// As [`member`](Group::member) and [`Group::open`].
    pub fn group(&self, name: &str) -> Result<Group> {
        Group::open_with(&self.member(name)?.address()?, &self.options)
    }

    /// Adds a member, now: a [`NewMember`], or the URI of one. Returns the time in milliseconds since 1970.
    ///
    /// # Errors
    /// `NotFound` when nothing is at its URI; `AlreadyExists` when the group has a member of that name; `InvalidArgument` for
    /// a relative URI that leaves the group, or the group itself.
    pub fn add(&self, member: impl Into<NewMember>) -> Result<u64> {
        self.write_members().add(member).commit()
    }

    /// Takes a member off the list, now, by its name or its URI. What it points to stays as it is. Returns the time in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// `NotFound` when there is no such member; `InvalidArgument` for a URI that several members have.
    pub fn remove(&self, name_or_uri: &str) -> Result<u64> {
        self.write_members().remove(name_or_uri).commit()
    }

    /// Starts a change of members: any number of them, seen all together or not at all.
    ///
    /// ```
    /// use smalti::{Group, NewMember, ObjectKind};
    ///
    /// let group = Group::create("mem://group-write-docs")?;
    /// let (old, new) = (NewMember::relative("v1/data").name("data"), NewMember::relative("v2/data").name("data"));
    /// group.write_members().add(old.kind(ObjectKind::Array)).commit()?;
    /// group.write_members().remove("data").add(new.kind(ObjectKind::Array)).commit()?;
    /// assert_eq!(group.member("data")?.uri(), "v2/data");
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn write_members(&self) -> MembersBuilder<'_> {
        MembersBuilder { group: self, edits: Vec::new(), at: None }
    }

    /// The metadata in the time range: keys with typed values.
    ///
    /// # Errors
    /// `Corrupt` and `Permission`, with the file named.
    pub fn metadata(&self) -> Result<Metadata> {
        self.here()?.metadata(self.time).and_then(Metadata::new)
    }

    /// Where the group is, for work of the process that the handle is of.
    fn here(&self) -> Result<&ArrayPlace> {
        self.options.surroundings().check_process()?;
        Ok(&self.place)
    }

    pub(crate) fn time_range(&self) -> TimeRange {
        self.time
    }

    pub(crate) fn place(&self) -> &ArrayPlace {
        &self.place
    }

    /// Starts a change of metadata, as [`Array::write_metadata`].
    pub fn write_metadata(&self) -> MetadataBuilder<'_> {
        MetadataBuilder::new(&self.place, self.options.surroundings())
    }

    /// The members, those of groups among them, and so on, each group before its members. Groups outside the folder of this one
    /// are named, but not entered; [`walk_everywhere`](Group::walk_everywhere) enters them too. A group is entered once,
    /// so that circles end, and at most 64 groups deep.
    ///
    /// # Errors
    /// As [`members`](Group::members) for this group; what is wrong further down is told in [`Visit::branch`].
    ///
    /// ```
    /// use smalti::{Group, Visit};
    ///
    /// let top = Group::create("mem://walk-docs")?;
    /// let sub = Group::create("mem://walk-docs/sub")?;
    /// Group::create("mem://walk-docs/sub/leaf")?;
    /// top.add("sub")?;
    /// sub.add("leaf")?;
    /// let found: Vec<(usize, String)> =
    ///     top.walk()?.map(|visit| (visit.depth, visit.member.key().to_owned())).collect();
    /// assert_eq!(found, [(0, "sub".to_owned()), (1, "leaf".to_owned())]);
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn walk(&self) -> Result<impl Iterator<Item = Visit>> {
        Ok(self.here()?.walk_members(self.time, false)?.map(Visit::new))
    }

    /// As [`walk`](Group::walk), wherever the members are: for groups that one trusts, as their lists then decide
    /// which folders are read.
    ///
    /// # Errors
    /// As [`walk`](Group::walk).
    pub fn walk_everywhere(&self) -> Result<impl Iterator<Item = Visit>> {
        Ok(self.here()?.walk_members(self.time, true)?.map(Visit::new))
    }

    /// Deletes the group: its list and metadata, and its folder unless something else is in that. No member is deleted. Of a group
    /// that was opened by a symbolic link that link alone goes.
    ///
    /// # Errors
    /// `NotFound` when the group has gone; what the store reports.
    pub fn delete(self) -> Result<DeletedGroup> {
        self.delete_or_unlink(false)
    }

    /// Deletes the group with its members of now, and theirs, that are in its folder. Members outside the folder are only off
    /// the list; files and folders in it that are no part of a member stay; symbolic links are not followed, and of a group that was
    /// opened by one that link alone goes.
    ///
    /// # Errors
    /// As [`delete`](Group::delete); `Corrupt` and `Permission` for a list that cannot be read: nothing is deleted then.
    ///
    /// ```
    /// use smalti::{Group, Object};
    ///
    /// let group = Group::create("mem://delete-docs/g")?;
    /// Group::create("mem://delete-docs/g/inside")?;
    /// Group::create("mem://delete-docs/outside")?;
    /// group.add("inside")?;
    /// group.add("mem://delete-docs/outside")?;
    /// let done = group.delete_with_members()?;
    /// assert_eq!(done.deleted, ["mem://delete-docs/g/inside", "mem://delete-docs/g"]);
    /// assert!(Object::at("mem://delete-docs/outside")?.is_some());
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn delete_with_members(self) -> Result<DeletedGroup> {
        self.delete_or_unlink(true)
    }

    fn delete_or_unlink(self, is_recursive: bool) -> Result<DeletedGroup> {
        self.here()?;
        match &self.link {
            Some(link) => link.unlink_group(),
            None => self.place.delete_group(is_recursive),
        }
    }

    /// A member to add, by a URI as [`open`](Group::open) takes it: a relative path counts from the working directory. What is
    /// in the group's folder becomes a relative member, anything else an absolute one.
    ///
    /// # Errors
    /// `InvalidArgument` for a URI that names nothing; `Unsupported` for storage that this release does not know.
    ///
    /// ```
    /// use smalti::{Group, NewMember};
    ///
    /// let group = Group::create("mem://member-at-docs/g")?;
    /// assert_eq!(group.member_at("mem://member-at-docs/g/a")?, NewMember::relative("a"));
    /// let beside = "mem://member-at-docs/beside";
    /// assert_eq!(group.member_at(beside)?, NewMember::absolute(beside));
    /// # Ok::<(), smalti::Error>(())
    /// ```
    pub fn member_at(&self, uri: &str) -> Result<NewMember> {
        self.place.new_member(&self.options.place(uri)?)
    }

    fn member_of(&self, listed: smalti_array::Member) -> Member {
        Member { place: self.place.member_place(&listed), listed, group: self.place.clone() }
    }
}

/// A member of a group, as the group lists it; nothing need be where it points.
#[derive(Debug, Clone)]
pub struct Member {
    listed: smalti_array::Member,
    place: Result<ArrayPlace>,
    group: ArrayPlace,
}

impl Member {
    /// The name in the group.
    pub fn name(&self) -> Option<&str> {
        self.listed.name.as_deref()
    }

    /// What the group knows it by: the name, or the URI.
    pub fn key(&self) -> &str {
        self.listed.key()
    }

    /// The URI as it is stored.
    pub fn uri(&self) -> &str {
        &self.listed.uri
    }

    /// Whether the URI counts from the group's folder.
    pub fn is_relative(&self) -> bool {
        self.listed.is_relative
    }

    /// What it was when it was added; `None` where nobody knew.
    pub fn kind(&self) -> Option<ObjectKind> {
        self.listed.kind
    }

    /// Where it is: an absolute path or a URI. Relative URIs count from the group's folder, `..` climbs.
    ///
    /// # Errors
    /// `Corrupt` for a stored URI that leads nowhere; `Unsupported` for storage that this release does not know.
    pub fn address(&self) -> Result<String> {
        self.place.as_ref().map(ArrayPlace::uri).map_err(Error::clone)
    }

    /// Whether it is in the group's folder, wherever symbolic links lead.
    pub fn is_inside(&self) -> bool {
        self.place.as_ref().is_ok_and(|place| self.group.holds(place))
    }
}

/// A member that a [walk](Group::walk) came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Visit {
    /// The member, as its group lists it.
    pub member: Member,
    /// How many groups it is below the first one: 0 for members of that.
    pub depth: usize,
    /// What the walk did there.
    pub branch: Branch,
}

impl Visit {
    fn new(visit: smalti_array::Visit) -> Visit {
        let smalti_array::Visit { group, member, depth, place, branch } = visit;
        Visit { member: Member { listed: member, place, group }, depth, branch }
    }
}

/// A change of a group's members; made by [`Group::write_members`].
#[derive(Debug, Clone)]
#[must_use = "nothing is written before commit"]
pub struct MembersBuilder<'a> {
    group: &'a Group,
    edits: Vec<MemberEdit>,
    at: Option<u64>,
}

impl MembersBuilder<'_> {
    /// Adds a member: a [`NewMember`], or the URI of one.
    #[allow(
        clippy::should_implement_trait,
        reason = "members are added and removed; nobody writes `group + member`"
    )]
    pub fn add(mut self, member: impl Into<NewMember>) -> Self {
        self.edits.push(MemberEdit::Add(member.into()));
        self
    }

    /// Takes a member off the list, by its name or its URI; earlier times still have it.
    pub fn remove(mut self, name_or_uri: impl Into<String>) -> Self {
        self.edits.push(MemberEdit::Remove(name_or_uri.into()));
        self
    }

    /// The time of the change: milliseconds since 1970, or a [`SystemTime`](std::time::SystemTime); by default now.
    pub fn at(mut self, time: impl IntoTimestamp) -> Self {
        self.at = Some(time.into_timestamp());
        self
    }

    /// Makes the change, atomic and durable. Returns its time in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Group::add`] and [`Group::remove`]; `InvalidArgument` for no changes, or a name that is changed twice.
    pub fn commit(self) -> Result<u64> {
        self.group.here()?.put_members(&self.edits, self.at)
    }
}
