//! How many bytes may be on their way to stores at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes of parts of files that may be on their way, for all files of a context.
const BYTE_LEN: usize = 32 << 20;

/// What is left of the room for parts. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Left>);

#[derive(Debug)]
struct Left {
    byte_len: Mutex<usize>,
    has_grown: Condvar,
}

/// Room that a part takes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    left: Arc<Left>,
    byte_len: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room(Arc::new(Left { byte_len: Mutex::new(BYTE_LEN), has_grown: Condvar::new() }))
    }
}

impl Room {
    /// Takes room for a part, and waits until others that arrived leave enough. One that is larger than all of it goes alone.
    pub(crate) fn take(&self, byte_len: usize) -> Taken {
        let byte_len = byte_len.min(BYTE_LEN);
        let left = self.0.byte_len.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.has_grown.wait_while(left, |left| *left < byte_len);
        *waited.unwrap_or_else(PoisonError::into_inner) -= byte_len;
        Taken { left: Arc::clone(&self.0), byte_len }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *self.left.byte_len.lock().unwrap_or_else(PoisonError::into_inner) += self.byte_len;
        self.left.has_grown.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_part_waits_until_others_have_left_room() {
        let room = Room::default();
        let (first, second) = (room.take(BYTE_LEN / 2), room.take(BYTE_LEN / 2));
        let (sender, told) = channel();
        let waiting = std::thread::spawn({
            let room = room.clone();
            move || {
                let taken = room.take(2 * BYTE_LEN);
                sender.send(()).unwrap();
                drop(taken);
            }
        });
        drop(first);
        assert!(told.try_recv().is_err());
        drop(second);
        told.recv().unwrap();
        waiting.join().unwrap();
        drop(room.take(BYTE_LEN));
    }
}
