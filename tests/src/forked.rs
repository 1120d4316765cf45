//! A process that forks itself and goes on, as programs in Python and C do.
#![allow(unsafe_code, reason = "what happens between fork and exec is the caller's responsibility")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What is added to what the forked process says, so that it is no number of an error of the system.
const SAID: i32 = 1 << 20;

/// Does work in a forked copy of this process, which has no thread but the one that asks, and returns what it said: less than 65,536.
/// The copy ends behind it, and nothing in it is dropped.
///
/// # Errors
/// When this process cannot be forked.
pub fn in_a_fork(mut work: impl FnMut() -> u16 + Send + Sync + 'static) -> io::Result<u16> {
    let mut command = Command::new("true");
    let say = move || Err(io::Error::from_raw_os_error(SAID + i32::from(work())));
    // SAFETY: nothing is asked of the copy but not to touch what only a running program of one process may: it shares no memory with
    // this process, glibc's allocator can be used in it, and locks that other threads hold are what the tests that come here are about.
    let forked = unsafe { command.pre_exec(say) }.spawn();
    let said = forked.err().and_then(|error| error.raw_os_error());
    said.and_then(|said| u16::try_from(said - SAID).ok())
        .ok_or_else(|| io::Error::other(format!("the forked process said {said:?}")))
}
