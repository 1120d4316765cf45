//! What stores have in common that keep answers of another one in front of it: what is known is given, the rest is asked for and kept.

use crate::{Answer, ByteRange, Pending, ReadInto, Request, Store, Tail, join};
use bytes::Bytes;
use smalti_types::{Error, ErrorKind, Result};

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// Bytes.
    Range(ByteRange),
    /// The end: so many bytes, or the whole file if that is shorter.
    Tail(u64),
}

/// What is known of a part of a file.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) bytes: Bytes,
    /// Of a tail.
    pub(crate) file_byte_len: u64,
}

impl Part {
    /// The path and the part that a request asks for; `None` for listings.
    fn of(request: &Request) -> Option<(&str, Part)> {
        match request {
            Request::Range { path, range } => Some((path, Part::Range(*range))),
            Request::Tail { path, byte_len } => Some((path, Part::Tail(*byte_len))),
            Request::List { .. } | Request::Lists { .. } | Request::Page { .. } => None,
        }
    }

    /// The answer to a request for it.
    pub(crate) fn answer(self, Found { bytes, file_byte_len }: Found) -> Answer {
        match self {
            Part::Range(_) => Answer::Bytes(bytes),
            Part::Tail(_) => Answer::Tail(Tail { file_byte_len, bytes }),
        }
    }
}

/// A store that keeps parts of files of another one.
pub(crate) trait Through: Clone + Send + 'static {
    /// A part that somebody wants, with what was known of its file before anybody asked.
    type Wanted: Send + 'static;

    /// The store that is asked for the rest.
    fn behind(&self) -> &dyn Store;

    fn wanted(&self, path: &str, part: Part) -> Self::Wanted;

    /// What is known of it.
    fn find(&self, wanted: &Self::Wanted) -> Option<Found>;

    /// Keeps what the store behind it has answered.
    fn keep(&self, wanted: &Self::Wanted, bytes: &Bytes, file_byte_len: u64);

    /// The answer to a request, where the store behind it need not be asked now.
    ///
    /// # Errors
    /// What is wanted, where it has to be.
    fn early(&self, request: &Request, wanted: Self::Wanted) -> std::result::Result<Pending, Self::Wanted>;

    fn keep_answer(&self, wanted: &Self::Wanted, answer: &Answer) {
        match answer {
            Answer::Bytes(bytes) => self.keep(wanted, bytes, 0),
            Answer::Tail(tail) => self.keep(wanted, &tail.bytes, tail.file_byte_len),
            Answer::Entries(_) | Answer::Lists(_) | Answer::Page(_) => {}
        }
    }
}

/// As [`Store::read_into`].
pub(crate) fn read_into(through: &impl Through, reads: &mut [ReadInto<'_>]) -> Result<()> {
    let mut missing = Vec::new();
    for read in reads {
        let range = ByteRange { start: read.offset, byte_len: read.dest.len() as u64 };
        let wanted = through.wanted(read.path, Part::Range(range));
        match through.find(&wanted) {
            Some(found) if found.bytes.len() == read.dest.len() => read.dest.copy_from_slice(&found.bytes),
            _ => missing.push((wanted, read)),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let asked = missing.iter_mut().map(|(_, read)| ReadInto {
        path: read.path,
        offset: read.offset,
        dest: &mut *read.dest,
    });
    through.behind().read_into(&mut asked.collect::<Vec<_>>())?;
    for (wanted, read) in missing {
        through.keep(&wanted, &Bytes::copy_from_slice(read.dest), 0);
    }
    Ok(())
}

/// As [`Store::read_tail`].
pub(crate) fn read_tail(through: &impl Through, path: &str, byte_len: u64) -> Result<Tail> {
    let wanted = through.wanted(path, Part::Tail(byte_len));
    if let Some(Found { bytes, file_byte_len }) = through.find(&wanted) {
        return Ok(Tail { file_byte_len, bytes });
    }
    let tail = through.behind().read_tail(path, byte_len)?;
    through.keep(&wanted, &tail.bytes, tail.file_byte_len);
    Ok(tail)
}

/// As [`Store::read_tails`].
pub(crate) fn read_tails(
    through: &impl Through,
    folder: &str,
    paths: &[String],
    byte_len: u64,
) -> Vec<Result<Tail>> {
    let requests = paths.iter().map(|path| Request::Tail { path: join(folder, path), byte_len });
    let pending = submit(through, requests.collect());
    pending.into_iter().map(|pending| pending.wait().and_then(Answer::tail)).collect()
}

/// As [`Store::submit`].
pub(crate) fn submit<T: Through>(through: &T, requests: Vec<Request>) -> Vec<Pending> {
    let mut answers: Vec<Option<Pending>> = Vec::with_capacity(requests.len());
    let (mut asked, mut missing) = (Vec::new(), Vec::new());
    for request in requests {
        let wanted = Part::of(&request).map(|(path, part)| through.wanted(path, part));
        let early = wanted.map(|wanted| through.early(&request, wanted)).transpose();
        match early {
            Ok(Some(pending)) => answers.push(Some(pending)),
            other => {
                asked.push(request);
                missing.push(other.err());
                answers.push(None);
            }
        }
    }
    let mut pending = match asked.is_empty() {
        true => Vec::new(),
        false => through.behind().submit(asked),
    }
    .into_iter()
    .zip(missing)
    .map(|(pending, wanted)| {
        let through = through.clone();
        Pending::new(move || {
            let answer = pending.wait()?;
            if let Some(wanted) = wanted {
                through.keep_answer(&wanted, &answer);
            }
            Ok(answer)
        })
    });
    let lost = || Pending::ready(Err(Error::new(ErrorKind::Io, "an answer was lost")));
    answers.into_iter().map(|answer| answer.or_else(|| pending.next()).unwrap_or_else(lost)).collect()
}
