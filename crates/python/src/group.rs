//! Groups, and what is at a URI.

use crate::array::Array;
use crate::call::work;
use crate::options::{Options, given};
use crate::value::{Told, told};
use pyo3::prelude::*;
use smalti::{NewMember, Object, ObjectKind, Progress};
use std::sync::Arc;

/// A handle on a group.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Group {
    pub(crate) group: smalti::Group,
}

/// A member: its name or URI, the URI, whether that is relative, its kind, its address.
type ToldMember = (String, String, bool, Option<&'static str>, Option<String>);

fn progress() -> Arc<Progress> {
    Arc::new(Progress::new())
}

#[pymethods]
impl Group {
    #[staticmethod]
    #[pyo3(signature = (uri, options=None))]
    fn open(py: Python<'_>, uri: &str, options: Option<&Bound<'_, Options>>) -> PyResult<Self> {
        let options = given(options);
        work(py, &progress(), None, || smalti::Group::open_with(uri, &options)).map(|group| Group { group })
    }

    #[staticmethod]
    #[pyo3(signature = (uri, options=None))]
    fn create(py: Python<'_>, uri: &str, options: Option<&Bound<'_, Options>>) -> PyResult<Self> {
        let options = given(options);
        work(py, &progress(), None, || smalti::Group::create_with(uri, &options)).map(|group| Group { group })
    }

    #[getter]
    fn uri(&self) -> String {
        self.group.uri()
    }

    fn members(&self, py: Python<'_>) -> PyResult<Vec<ToldMember>> {
        let members = work(py, &progress(), None, || self.group.members())?;
        let one = |member: &smalti::Member| {
            let (key, uri) = (member.key().to_owned(), member.uri().to_owned());
            let kind = member.kind().map(ObjectKind::name);
            (key, uri, member.is_relative(), kind, member.address().ok())
        };
        Ok(members.iter().map(one).collect())
    }

    fn array(&self, py: Python<'_>, name: &str) -> PyResult<Array> {
        work(py, &progress(), None, || self.group.array(name)).map(|array| Array { array })
    }

    fn group(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        work(py, &progress(), None, || self.group.group(name)).map(|group| Group { group })
    }

    /// Changes the members: those to add with their URI, whether it is relative, and their name; names to remove.
    #[pyo3(signature = (add, remove, replace=false, at=None))]
    fn write_members(
        &self,
        py: Python<'_>,
        add: Vec<(String, bool, Option<String>)>,
        remove: Vec<String>,
        replace: bool,
        at: Option<u64>,
    ) -> PyResult<u64> {
        let mut change = self.group.write_members();
        for name in remove {
            change = change.remove(name);
        }
        for (uri, is_relative, name) in add {
            let member = if is_relative { NewMember::relative(uri) } else { NewMember::absolute(uri) };
            let member = match name {
                Some(name) => member.name(name),
                None => member,
            };
            change = change.add(if replace { member.replacing() } else { member });
        }
        if let Some(time) = at {
            change = change.at(time);
        }
        work(py, &progress(), None, || change.commit())
    }

    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Told<'py>)>> {
        let metadata = work(py, &progress(), None, || self.group.metadata())?;
        Ok(metadata.iter().map(|(key, value)| (key.clone(), told(py, value))).collect())
    }

    #[pyo3(signature = (put, delete, at=None))]
    fn write_metadata(
        &self,
        py: Python<'_>,
        put: Vec<(String, String, Vec<u8>)>,
        delete: Vec<String>,
        at: Option<u64>,
    ) -> PyResult<u64> {
        let change = crate::write::metadata(py, self.group.write_metadata(), put, delete, at)?;
        work(py, &progress(), None, || change.commit())
    }

    /// Deletes the group, and what its members are with it where that is asked for: what was deleted.
    #[pyo3(signature = (members=false))]
    fn delete(&self, py: Python<'_>, members: bool) -> PyResult<Vec<String>> {
        let group = self.group.clone();
        let done = work(py, &progress(), None, || match members {
            true => group.delete_with_members(),
            false => group.delete(),
        })?;
        Ok(done.deleted)
    }
}

/// What is at a URI: "array", "group", or nothing.
#[pyfunction]
#[pyo3(signature = (uri, options=None))]
pub(crate) fn kind_of(
    py: Python<'_>,
    uri: &str,
    options: Option<&Bound<'_, Options>>,
) -> PyResult<Option<&'static str>> {
    let options = given(options);
    let found = work(py, &progress(), None, || Object::at_with(uri, &options))?;
    Ok(found.map(|object| object.kind().name()))
}

/// The arrays and groups right below a URI: their URIs and kinds.
#[pyfunction]
#[pyo3(signature = (uri, options=None))]
pub(crate) fn children(
    py: Python<'_>,
    uri: &str,
    options: Option<&Bound<'_, Options>>,
) -> PyResult<Vec<(String, &'static str)>> {
    let options = given(options);
    let found = work(py, &progress(), None, || Object::children_with(uri, &options))?;
    Ok(found.iter().map(|object| (object.uri(), object.kind().name())).collect())
}
