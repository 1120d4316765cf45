//! Exclusive claims where nothing can be locked: files, put if absent, with an owner and an end.
//!
//! A claim of a name in a folder is a file `.smalti-tmp-claim-<name>-<generation>`, which no listing shows and libtiledb passes over. Its
//! content says whose it is and until when. All that a store has to offer are puts that never replace, listings that show every
//! file whose put has returned, and deletions: so object stores can have claims too.
//!
//! - Who wants a claim lists its files. Where one has not ended, somebody holds it. Otherwise the next generation is put; of
//!   several that try, one succeeds. Then the files are listed again, and any other that has not ended means to give way: of two that
//!   put different generations, because one had listed long ago, the later put sees the earlier one. Files that have ended are deleted.
//! - Who holds a claim renews it by the same step: the next generation is put, with a later end, and counts if the listing then
//!   shows the own file before it, and no other that has not ended. So a holder that was asleep and the one that took the claim over
//!   meanwhile cannot both go on: either they put the same generation, or one sees the other's file.
//! - A claim ends when its file is deleted, or when the time in it has come. Clocks may differ by the time between a renewal
//!   that is due and the end, 40 seconds. Before a step that must be one's own, [`ClaimFile::confirm`] renews.
//!
//! See `docs/decisions/0012`.

use crate::{LEFTOVER_PREFIX, Leftover, Store, join, split};
use smalti_types::{Clock, Env, Error, ErrorKind, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the names of claims go on behind [`LEFTOVER_PREFIX`].
const CLAIM: &str = "claim-";

/// The time from a renewal to the end.
const TERM_MS: u64 = 60_000;

/// The time from a renewal to the next.
const RENEWAL: Duration = Duration::from_secs(20);

/// No file of a claim is longer.
const MAX_BYTE_LEN: u64 = 1024;

/// A claim that is held until it is dropped, and renewed meanwhile.
#[derive(Debug)]
pub struct ClaimFile {
    shared: Arc<Shared>,
    renewer: Option<std::thread::JoinHandle<()>>,
}

/// Somebody else's claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingClaim {
    /// The address of its file.
    pub uri: String,
    /// Who holds it, in words.
    pub owner: String,
    /// When it ends unless it is renewed, in milliseconds since 1970-01-01T00:00:00Z.
    pub end_ms: u64,
}

impl std::fmt::Display for StandingClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let StandingClaim { uri, owner, end_ms } = self;
        write!(f, "{uri} claims it for {owner} until {end_ms} ms since 1970, or longer if that is renewed")
    }
}

/// What became of asking for a claim.
#[derive(Debug)]
pub enum Claiming {
    /// It is held.
    Held(ClaimFile),
    /// Somebody else holds it.
    Taken(StandingClaim),
}

struct Shared {
    files: ClaimFiles,
    state: Mutex<State>,
    released: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    /// That of the file which is held.
    generation: u64,
    is_released: bool,
    /// Somebody else has the claim.
    is_lost: bool,
}

/// Where the files of a claim are, and who asks for it.
struct ClaimFiles {
    store: Arc<dyn Store>,
    folder: String,
    name: String,
    clock: Arc<dyn Clock>,
    owner: String,
}

/// One of the files of a claim.
struct Found {
    generation: u64,
    path: String,
    owner: String,
    end_ms: u64,
}

/// What became of the put of a generation.
enum Put {
    /// The claim is held by the file of this generation.
    Held(u64),
    Lost(Option<StandingClaim>),
}

/// The path of the file of a generation.
fn claim_path(folder: &str, name: &str, generation: u64) -> String {
    join(folder, &format!("{LEFTOVER_PREFIX}{CLAIM}{name}-{generation:016x}"))
}

/// The generation in a path, if it is that of a file of the claim.
fn generation(path: &str, name: &str) -> Option<u64> {
    let rest = split(path).1.strip_prefix(LEFTOVER_PREFIX)?.strip_prefix(CLAIM)?;
    let digits = rest.strip_prefix(name)?.strip_prefix('-')?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Until when a leftover holds a claim, in milliseconds since 1970-01-01T00:00:00Z; `None` where it is no claim.
///
/// # Errors
/// `Corrupt` for a claim that cannot be read; what the store reports.
pub fn claim_end_ms(store: &dyn Store, leftover: &Leftover) -> Result<Option<u64>> {
    let rest = split(&leftover.path).1.strip_prefix(LEFTOVER_PREFIX);
    if rest.is_none_or(|rest| !rest.starts_with(CLAIM)) {
        return Ok(None);
    }
    Ok(read(store, &leftover.path)?.map(|(_, end_ms)| end_ms))
}

/// Owner and end of a claim; `None` when it is gone.
fn read(store: &dyn Store, path: &str) -> Result<Option<(String, u64)>> {
    let tail = match store.read_tail(path, MAX_BYTE_LEN) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        tail => tail?,
    };
    let text = std::str::from_utf8(&tail.bytes).ok().filter(|_| tail.file_byte_len <= MAX_BYTE_LEN);
    let parts = text.and_then(|text| text.strip_suffix('\n')?.split_once('\n'));
    let parts = parts.and_then(|(end, owner)| Some((owner.to_owned(), end.parse().ok()?)));
    parts.map(Some).ok_or_else(|| {
        let message = "no claim that smalti has written; delete the file when no consolidation, vacuum or change of the schema is running";
        Error::corrupt(message).at_uri(store.address(path))
    })
}

impl ClaimFiles {
    fn path(&self, generation: u64) -> String {
        claim_path(&self.folder, &self.name, generation)
    }

    /// The files that are there, with what they say.
    fn list(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for Leftover { path, .. } in self.store.leftovers(&self.folder)? {
            let Some(generation) = generation(&path, &self.name) else { continue };
            if let Some((owner, end_ms)) = read(&*self.store, &path)? {
                found.push(Found { generation, path, owner, end_ms });
            }
        }
        Ok(found)
    }

    /// Among files, one of somebody else that has not ended.
    fn standing(&self, found: &[Found]) -> Option<StandingClaim> {
        let now = self.clock.now_ms();
        let other = found.iter().find(|file| file.end_ms > now && file.owner != self.owner)?;
        let uri = self.store.address(&other.path);
        Some(StandingClaim { uri, owner: other.owner.clone(), end_ms: other.end_ms })
    }

    /// Puts a generation, behind the one that is held before if there is one, and looks whether the claim is held by it. What has
    /// ended goes then. Otherwise the file goes again.
    fn put(&self, generation: u64, before: Option<u64>) -> Result<Put> {
        let path = self.path(generation);
        let end_ms = self.clock.now_ms().saturating_add(TERM_MS);
        let content = format!("{end_ms}\n{}\n", self.owner);
        match self.store.put(&path, &[content.as_bytes()]) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match read(&*self.store, &path)? {
                // The answer to an earlier put was lost.
                Some((owner, _)) if owner == self.owner && generation < u64::MAX => {
                    return self.put(generation + 1, before);
                }
                Some((owner, end_ms)) => {
                    let uri = self.store.address(&path);
                    return Ok(Put::Lost(Some(StandingClaim { uri, owner, end_ms })));
                }
                None => return Ok(Put::Lost(None)),
            },
            Err(error) => {
                if before.is_none() {
                    self.retract(generation);
                }
                return Err(error);
            }
            Ok(()) => {}
        }
        let found = self.list()?;
        let has = |generation: u64| found.iter().any(|file| file.generation == generation);
        let standing = self.standing(&found);
        // Who comes back after the end may have been taken over without a trace.
        let is_over = self.clock.now_ms() >= end_ms;
        if standing.is_some() || is_over || !has(generation) || !before.is_none_or(has) {
            self.retract(generation);
            return Ok(Put::Lost(standing));
        }
        let gone: Vec<&str> = found
            .iter()
            .filter(|file| file.generation != generation)
            .map(|file| file.path.as_str())
            .collect();
        self.store.delete_files(&gone)?;
        Ok(Put::Held(generation))
    }

    /// Deletes a file if it is ours.
    fn retract(&self, generation: u64) {
        let path = self.path(generation);
        if read(&*self.store, &path).is_ok_and(|file| file.is_some_and(|(owner, _)| owner == self.owner)) {
            // What cannot be deleted ends by itself.
            let _ = self.store.delete_files(&[&path]);
        }
    }
}

impl ClaimFile {
    /// Asks for the claim of a name in a folder. Does not wait. `name` has lower-case letters alone.
    ///
    /// # Errors
    /// `Corrupt` for a file of a claim that cannot be read; what the store reports.
    pub fn take(store: &Arc<dyn Store>, folder: &str, name: &str, env: &Env) -> Result<Claiming> {
        let mut id = [0; 8];
        env.entropy.fill(&mut id)?;
        let files = ClaimFiles {
            store: Arc::clone(store),
            folder: folder.to_owned(),
            name: name.to_owned(),
            clock: Arc::clone(&env.clock),
            owner: format!("process {}, claim {:016x}", std::process::id(), u64::from_le_bytes(id)),
        };
        let found = files.list()?;
        if let Some(standing) = files.standing(&found) {
            return Ok(Claiming::Taken(standing));
        }
        let latest = found.iter().map(|file| file.generation).max().unwrap_or(0);
        let generation = latest.checked_add(1).ok_or_else(|| {
            let error = Error::corrupt(
                "the last of all claims; delete the file when no consolidation or vacuum is running",
            );
            error.at_uri(store.address(&files.path(latest)))
        })?;
        let generation = match files.put(generation, None)? {
            Put::Held(generation) => generation,
            Put::Lost(standing) => {
                let unknown = || StandingClaim {
                    uri: store.address(&files.path(generation)),
                    owner: "a process that asked at the same time".into(),
                    end_ms: files.clock.now_ms(),
                };
                return Ok(Claiming::Taken(standing.unwrap_or_else(unknown)));
            }
        };
        let state = Mutex::new(State { generation, is_released: false, is_lost: false });
        let shared = Arc::new(Shared { files, state, released: Condvar::new() });
        let renewing = Arc::clone(&shared);
        let renewer =
            std::thread::Builder::new().name("smalti-claim".into()).spawn(move || renewing.renew_on());
        // Without a thread the claim is renewed where it is confirmed.
        Ok(Claiming::Held(ClaimFile { shared, renewer: renewer.ok() }))
    }

    /// Makes sure that the claim is held still, and for another minute.
    ///
    /// # Errors
    /// `Io` when somebody else has taken it over, because this process was asleep for longer than a minute; what the store reports.
    pub fn confirm(&self) -> Result<()> {
        self.shared.renew(&mut self.shared.state())
    }
}

impl Drop for ClaimFile {
    fn drop(&mut self) {
        self.shared.state().is_released = true;
        self.shared.released.notify_all();
        if let Some(renewer) = self.renewer.take() {
            // It panics nowhere, and there is nothing to do if it has.
            let _ = renewer.join();
        }
        let files = &self.shared.files;
        files.retract(self.shared.state().generation);
        // Puts whose answers were lost.
        for file in files.list().unwrap_or_default() {
            files.retract(file.generation);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews the claim again and again until it is released or lost.
    fn renew_on(&self) {
        let mut state = self.state();
        while !state.is_released && !state.is_lost {
            let waited = self.released.wait_timeout(state, RENEWAL).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && !state.is_released {
                // What fails is tried again; whoever confirms the claim learns that it is lost.
                let _ = self.renew(&mut state);
            }
        }
    }

    fn renew(&self, state: &mut State) -> Result<()> {
        let lost = |by: Option<StandingClaim>| {
            let by = by.map_or_else(String::new, |by| format!(": {by}"));
            let message = format!(
                "the claim was taken over by another process, as this one had not renewed it for a minute; nothing was changed since, do it again{by}"
            );
            Error::new(ErrorKind::Io, message).at_uri(self.files.store.address(&self.files.folder))
        };
        if state.is_lost {
            return Err(lost(None));
        }
        let next = state.generation.saturating_add(1);
        match self.files.put(next, Some(state.generation))? {
            Put::Held(generation) => {
                state.generation = generation;
                Ok(())
            }
            Put::Lost(by) => {
                state.is_lost = true;
                Err(lost(by))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FaultEffect, FaultPlan, FaultStore, ManualClock, MemoryStore, SeededEntropy};

    fn env(clock: &Arc<ManualClock>, seed: u64) -> Env {
        let mut env = Env::new(ManualClock::new(0), SeededEntropy::new(seed));
        env.clock = Arc::clone(clock) as Arc<dyn Clock>;
        env
    }

    fn held(claiming: Result<Claiming>) -> ClaimFile {
        match claiming.unwrap() {
            Claiming::Held(claim) => claim,
            Claiming::Taken(by) => panic!("taken: {by}"),
        }
    }

    fn is_taken(claiming: Result<Claiming>) -> bool {
        matches!(claiming.unwrap(), Claiming::Taken(_))
    }

    fn store() -> (MemoryStore, Arc<dyn Store>) {
        let memory = MemoryStore::new();
        memory.put("a/x", &[]).unwrap();
        (memory.clone(), Arc::new(memory))
    }

    #[test]
    fn one_holds_a_claim_until_it_lets_go() {
        let ((memory, store), clock) = (store(), Arc::new(ManualClock::new(5)));
        let first = held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 1)));
        assert!(is_taken(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2))));
        let other = held(ClaimFile::take(&store, "a", "schema", &env(&clock, 3)));
        first.confirm().unwrap();
        assert!(is_taken(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2))));
        // Nobody sees the files but those who ask for claims.
        assert_eq!(store.list("a").unwrap().len(), 1);
        assert_eq!(store.leftovers("a").unwrap().len(), 2);
        drop((first, other));
        drop(held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2))));
        assert_eq!(memory.files().len(), 1, "a claim leaves nothing");
    }

    #[test]
    fn a_claim_whose_holder_is_gone_ends_with_its_time_and_not_before() {
        let ((memory, store), clock) = (store(), Arc::new(ManualClock::new(5)));
        // A process that ends without dropping anything.
        std::mem::forget(held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 1))));
        for _ in 0..3 {
            // While a clock stands still nothing ends.
            assert!(is_taken(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2))));
        }
        clock.advance(TERM_MS - 1);
        assert!(is_taken(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2))));
        clock.advance(1);
        let second = held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2)));
        assert_eq!(memory.files().len(), 2, "what has ended is gone");
        second.confirm().unwrap();
    }

    #[test]
    fn who_was_asleep_and_who_took_over_do_not_both_go_on() {
        let ((memory, store), clock) = (store(), Arc::new(ManualClock::new(5)));
        let asleep = held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 1)));
        clock.advance(TERM_MS);
        // Nobody came: it goes on.
        asleep.confirm().unwrap();
        clock.advance(TERM_MS);
        let second = held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 2)));
        let error = asleep.confirm().unwrap_err();
        assert!(error.to_string().contains("taken over"), "{error}");
        second.confirm().unwrap();
        drop(second);
        // Neither does it after the other has ended.
        asleep.confirm().unwrap_err();
        drop(asleep);
        assert_eq!(memory.files().len(), 1);
    }

    #[test]
    fn who_had_listed_long_ago_gives_way() {
        let ((_, store), clock) = (store(), Arc::new(ManualClock::new(5)));
        let files = |seed: u64| ClaimFiles {
            store: Arc::clone(&store),
            folder: "a".into(),
            name: "upkeep".into(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            owner: seed.to_string(),
        };
        // Both saw that the fifth had ended; the other was quicker, let go, and a third began anew.
        let third = held(ClaimFile::take(&store, "a", "upkeep", &env(&clock, 3)));
        assert!(matches!(files(1).put(6, None).unwrap(), Put::Lost(Some(_))));
        third.confirm().unwrap();
        drop(third);
        assert!(matches!(files(1).put(6, None).unwrap(), Put::Held(6)));
        // Of two that put the same generation one has it.
        assert!(matches!(files(2).put(6, None).unwrap(), Put::Lost(Some(_))));
        // A renewal whose file before it is gone was overtaken.
        assert!(matches!(files(1).put(9, Some(8)).unwrap(), Put::Lost(_)));
    }

    #[test]
    fn a_lost_answer_is_no_lost_claim_and_an_error_is_an_error() {
        let (memory, _) = store();
        let store = Arc::new(FaultStore::new(memory.clone()));
        let (shared, clock) = (Arc::clone(&store) as Arc<dyn Store>, Arc::new(ManualClock::new(5)));
        let plan = |effect| FaultPlan { effect, ..FaultPlan::once(0) };
        for effect in [FaultEffect::Before, FaultEffect::After] {
            store.set_plan(Some(plan(effect)));
            ClaimFile::take(&shared, "a", "upkeep", &env(&clock, 1)).unwrap_err();
            store.set_plan(None);
            let claim = held(ClaimFile::take(&shared, "a", "upkeep", &env(&clock, 1)));
            store.set_plan(Some(plan(effect)));
            claim.confirm().unwrap_err();
            store.set_plan(None);
            claim.confirm().unwrap();
            drop(claim);
            assert_eq!(memory.files().len(), 1);
        }
    }

    #[test]
    fn a_file_that_is_no_claim_is_told_by_name() {
        let ((_, store), clock) = (store(), Arc::new(ManualClock::new(5)));
        for content in ["", "x", "12 \nme\n", "99999999999999999999999\nme\n"] {
            let path = claim_path("a", "upkeep", 3);
            store.put(&path, &[content.as_bytes()]).unwrap();
            let error = ClaimFile::take(&store, "a", "upkeep", &env(&clock, 1)).unwrap_err();
            assert!(error.to_string().contains(&path), "{error}");
            store.delete_files(&[&path]).unwrap();
        }
        store.put(&claim_path("a", "upkeep", u64::MAX), &[b"1\nme\n"]).unwrap();
        ClaimFile::take(&store, "a", "upkeep", &env(&clock, 1)).unwrap_err();
    }
}
