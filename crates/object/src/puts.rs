//! Puts whose effect is looked up where their acknowledgement was lost: nothing is replaced by chance, and nobody takes their own object for another's.

use crate::error;
use crate::objects::{Objects, key_of};
use bytes::Bytes;
use object_store::{Attribute, Attributes, GetOptions, PutMode, PutOptions, PutPayload};
use smalti_store::{SystemEntropy, UNKNOWN_EFFECT};
use smalti_types::{Entropy as _, Error, ErrorKind, Result};

impl Objects {
    /// Puts an object that may replace another.
    pub(crate) async fn put_over(&self, path: &str, content: Bytes) -> Result<()> {
        let asked = self.asked(path);
        // Answers may come from before and after it.
        self.0.versions.replaced(path);
        let (key, payload) = (key_of(path)?, PutPayload::from(content.clone()));
        let put = self.0.client.put_opts(&key, payload, PutOptions::from(PutMode::Overwrite)).await;
        let Err(failed) = put else { return Ok(()) };
        if error::is_uncertain(&failed)
            && self.has_content(path, &content).await.is_ok_and(|found| found == Some(true))
        {
            return Ok(());
        }
        Err(error::told_of_change(&failed, &asked))
    }

    /// Puts an object that is not to replace anything. It is sent once at a time: what its effect was is looked up before it is sent again, so
    /// that a lost acknowledgement is neither reported as a failure nor as somebody else's object.
    async fn put_new(&self, path: &str, content: Bytes, mark: &Mark) -> Result<()> {
        let key = key_of(path)?;
        let asked = self.asked(path);
        if !self.0.manners.puts_if_absent {
            return Err(Error::unsupported(
                "this store replaces objects without asking, so that two writers may undo each other: keep the array elsewhere, or read only",
            )
            .at_uri(&asked.uri));
        }
        self.0.versions.deleted(path);
        let mut pauses = self.pauses();
        let mut may_be_done = false;
        loop {
            let options = PutOptions { attributes: mark.attributes(), ..PutOptions::from(PutMode::Create) };
            let payload = PutPayload::from(content.clone());
            let Err(failed) = self.0.once.put_opts(&key, payload, options).await else { return Ok(()) };
            let is_uncertain = error::is_uncertain(&failed);
            may_be_done |= is_uncertain;
            let mut is_known_absent = false;
            if is_uncertain || matches!(failed, object_store::Error::AlreadyExists { .. }) {
                // A program in between may have sent it twice, and the second answer arrived: so who put it is always asked.
                match self.whose(path, &content, mark, may_be_done).await {
                    Ok(Whose::Ours) => return Ok(()),
                    Ok(Whose::Others) => {
                        let taken = Error::new(ErrorKind::AlreadyExists, "an object of that name exists");
                        return Err(taken.at_uri(&asked.uri));
                    }
                    Ok(Whose::Nobodys) => is_known_absent = !error::may_be_under_way(&failed),
                    // What happened cannot be found out: the next try tells.
                    Err(_) => {}
                }
            }
            if !is_uncertain || !pauses.wait().await {
                let told = error::told(&failed, &asked);
                return Err(if may_be_done && !is_known_absent {
                    told.context(UNKNOWN_EFFECT)
                } else {
                    told
                });
            }
        }
    }

    /// Who put an object. Stores that keep no marks have the content compared, where one's own may be there.
    async fn whose(&self, path: &str, content: &Bytes, mark: &Mark, may_be_ours: bool) -> Result<Whose> {
        let told = |failed| error::told(&failed, &self.asked(path));
        let options = GetOptions { head: true, ..GetOptions::default() };
        let found = match self.0.client.get_opts(&key_of(path)?, options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(Whose::Nobodys),
            Err(failed) => return Err(told(failed)),
        };
        match Mark::of(&found.attributes) {
            Some(found) if found == mark.0 => return Ok(Whose::Ours),
            Some(_) => return Ok(Whose::Others),
            None => {}
        }
        if !may_be_ours || found.meta.size != content.len() as u64 {
            return Ok(Whose::Others);
        }
        Ok(match self.has_content(path, content).await? {
            Some(true) => Whose::Ours,
            Some(false) => Whose::Others,
            None => Whose::Nobodys,
        })
    }

    /// Puts an object from its whole content, which is not to replace anything.
    pub(crate) fn put_whole(&self, path: &str, content: Bytes) -> Result<()> {
        let (objects, path) = (self.clone(), path.to_owned());
        self.0.io.wait(async move { objects.put_new(&path, content, &Mark::new()?).await })
    }

    /// Puts files side by side; those that were put, or may have been, are deleted again where one fails.
    pub(crate) fn put_all(&self, files: Vec<(String, Bytes)>) -> Result<()> {
        let files = files.into_iter().map(|(path, content)| Ok((path, content, Mark::new()?)));
        let files = files.collect::<Result<Vec<(String, Bytes, Mark)>>>()?;
        let puts = files.iter().cloned().map(|(path, content, mark)| {
            let objects = self.clone();
            async move { objects.put_new(&path, content, &mark).await }
        });
        let puts = self.0.io.wait_all(puts);
        let Some(failed) = puts.iter().find_map(|put| put.as_ref().err()).cloned() else { return Ok(()) };
        let is_unknown =
            |put: &Result<()>| put.as_ref().is_err_and(|error| error.to_string().contains(UNKNOWN_EFFECT));
        let (mut done, mut unknown) = (Vec::new(), Vec::new());
        for (file, put) in files.into_iter().zip(&puts) {
            match put {
                Ok(()) => done.push(key_of(&file.0)?),
                put if is_unknown(put) => unknown.push(file),
                Err(_) => {}
            }
        }
        let objects = self.clone();
        // The first error tells more.
        let _ = self.0.io.wait(async move {
            for (path, content, mark) in unknown {
                if let Ok(Whose::Ours) = objects.whose(&path, &content, &mark, true).await {
                    done.push(key_of(&path)?);
                }
            }
            objects.delete(done).await
        });
        Err(failed)
    }
}

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Others,
    Nobodys,
}

/// What an object is marked with when it is put, so that who put it knows it again.
#[derive(Debug, Clone)]
struct Mark(String);

impl Mark {
    /// The name of the mark in the metadata of objects: one that all stores and what is between take.
    const NAME: &'static str = "smaltiput";

    fn new() -> Result<Mark> {
        let mut bytes = [0; 16];
        SystemEntropy.fill(&mut bytes)?;
        Ok(Mark(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata(Mark::NAME.into()), self.0.clone().into());
        attributes
    }

    fn of(attributes: &Attributes) -> Option<&str> {
        attributes.get(&Attribute::Metadata(Mark::NAME.into())).map(AsRef::as_ref)
    }
}
