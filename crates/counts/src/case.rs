//! What a case is.

/// What a case ends with.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Work that is counted. What it needs was made before, and goes after.
pub(crate) type Work = Box<dyn FnMut() -> Outcome>;

/// Work with a name.
pub(crate) struct Case {
    /// Its name in the record: words with hyphens between them.
    pub(crate) name: String,
    /// Makes what the work needs.
    pub(crate) prepare: Box<dyn Fn() -> Outcome<Work>>,
}

/// A case of that name.
pub(crate) fn case(name: &str, prepare: impl Fn() -> Outcome<Work> + 'static) -> Case {
    Case { name: name.to_owned(), prepare: Box::new(prepare) }
}

/// Work that was made ready.
pub(crate) fn work(work: impl FnMut() -> Outcome + 'static) -> Outcome<Work> {
    Ok(Box::new(work))
}

/// Work that was done once before, so that memory that the engine keeps from one piece of work to the next is there, as in a long run.
pub(crate) fn again(mut done: impl FnMut() -> Outcome + 'static) -> Outcome<Work> {
    done()?;
    work(done)
}
