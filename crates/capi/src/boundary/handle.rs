//! Handles: what C holds a pointer to, and what is checked before it is followed.
#![allow(unsafe_code, reason = "handles are pointers that C keeps")]

use crate::failure::{Fallible, fail};
use std::any::TypeId;
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What handles of a kind hold.
pub(crate) trait Handle: Send + Sync + Sized + 'static {
    /// What messages call it.
    const NAME: &'static str;
}

/// Names kinds of handles.
macro_rules! kinds {
    ($($kind:ty => $name:literal),* $(,)?) => {$(
        impl $crate::boundary::Handle for $kind {
            const NAME: &'static str = $name;
        }
    )*};
}
pub(crate) use kinds;

/// What a handle points to.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slot<T> {
    /// The kind, so that a handle of another kind is noticed.
    kind: TypeId,
    value: Arc<RwLock<T>>,
    lent: Mutex<HashMap<Box<[u8]>, Box<[u64]>>>,
}

/// The kind of what was freed.
struct Freed;

impl<T: Handle> Slot<T> {
    fn new(value: Arc<RwLock<T>>) -> Slot<T> {
        Slot { kind: TypeId::of::<T>(), value, lent: Mutex::default() }
    }

    /// The content, to look at.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content, to change.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that stay where they are until the handle is freed, with a zero after them; equal bytes are kept once.
    pub(crate) fn lend(&self, bytes: &[u8]) -> *const c_void {
        let mut lent = locked(&self.lent);
        let words = lent.entry(bytes.into()).or_insert_with(|| {
            let chunks = bytes.chunks(8).chain(std::iter::once(&[][..]));
            chunks
                .map(|chunk| {
                    let mut word = [0; 8];
                    word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                    u64::from_ne_bytes(word)
                })
                .collect()
        });
        words.as_ptr().cast()
    }

    /// Text for C that stays where it is until the handle is freed.
    pub(crate) fn lend_text(&self, text: &str) -> *const c_char {
        self.lend(text.as_bytes()).cast()
    }
}

/// Content that several handles have.
pub(crate) type Shared<T> = Arc<RwLock<T>>;

/// What is shared, to look at.
pub(crate) fn seen<T>(shared: &Shared<T>) -> RwLockReadGuard<'_, T> {
    shared.read().unwrap_or_else(PoisonError::into_inner)
}

/// What is shared, to change.
pub(crate) fn changed<T>(shared: &Shared<T>) -> RwLockWriteGuard<'_, T> {
    shared.write().unwrap_or_else(PoisonError::into_inner)
}

/// The content of a lock, whatever happened while it was held.
pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The handles there are, so that one that was freed is noticed; debug builds ask.
static LIVE: Mutex<Option<HashMap<usize, TypeId>>> = Mutex::new(None);

fn note<T: Handle>(slot: *mut Slot<T>) {
    if cfg!(debug_assertions) {
        locked(&LIVE).get_or_insert_default().insert(slot.addr(), TypeId::of::<T>());
    }
}

fn is_live<T: Handle>(slot: NonNull<Slot<T>>) -> bool {
    if cfg!(debug_assertions) {
        let live = locked(&LIVE);
        return live.as_ref().and_then(|live| live.get(&slot.addr().get())) == Some(&TypeId::of::<T>());
    }
    // SAFETY: C passes pointers that an entry gave it and that were not freed; all of them begin with a kind.
    unsafe { (*slot.as_ptr()).kind == TypeId::of::<T>() }
}

/// A handle that C passes in.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(Option<NonNull<Slot<T>>>);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Handle> In<T> {
    /// What it points to.
    pub(crate) fn slot(&self) -> Fallible<&Slot<T>> {
        match self.0 {
            // SAFETY: it is one of ours, and C does not free it while a call uses it.
            Some(slot) if is_live(slot) => Ok(unsafe { slot.as_ref() }),
            Some(_) => fail("C API", format!("{} object is not self-consistent", T::NAME)),
            None => fail("C API", format!("Invalid TileDB {} object", T::NAME)),
        }
    }

    /// The content, to look at.
    pub(crate) fn read(&self) -> Fallible<RwLockReadGuard<'_, T>> {
        Ok(self.slot()?.read())
    }

    /// The content, to change.
    pub(crate) fn write(&self) -> Fallible<RwLockWriteGuard<'_, T>> {
        Ok(self.slot()?.write())
    }

    /// The content, to share it.
    pub(crate) fn share(&self) -> Fallible<Arc<RwLock<T>>> {
        Ok(Arc::clone(&self.slot()?.value))
    }

    /// Whether there is none.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_none()
    }

    /// The address, for handles that are constants.
    pub(crate) fn place(&self) -> *const u8 {
        self.0.map_or(std::ptr::null(), |slot| slot.as_ptr().cast_const().cast())
    }
}

/// Where C wants a new handle, or where the handle is that it frees.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct New<T>(Option<NonNull<*mut Slot<T>>>);

impl<T: Handle> New<T> {
    /// Whether there is no place for it.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_none()
    }

    /// That there is a place for it.
    pub(crate) fn check(&self) -> Fallible<()> {
        match self.0 {
            Some(_) => Ok(()),
            None => fail("C API", "Invalid output pointer for object"),
        }
    }

    /// Makes a handle.
    pub(crate) fn put(&self, value: T) -> Fallible<()> {
        self.put_shared(Arc::new(RwLock::new(value)))
    }

    /// Makes a handle on content that others have, too: what one changes the others see.
    pub(crate) fn put_shared(&self, value: Arc<RwLock<T>>) -> Fallible<()> {
        let Some(place) = self.0 else { return self.check() };
        let slot = Box::into_raw(Box::new(Slot::new(value)));
        note(slot);
        // SAFETY: C passes a place for a pointer.
        unsafe { place.write(slot) };
        Ok(())
    }

    /// Says that there is none.
    pub(crate) fn put_null(&self) -> Fallible<()> {
        let Some(place) = self.0 else { return self.check() };
        // SAFETY: C passes a place for a pointer.
        unsafe { place.write(std::ptr::null_mut()) };
        Ok(())
    }

    /// Frees the handle that is there, and leaves null.
    pub(crate) fn free(&self) -> Fallible<()> {
        let Some(place) = self.0 else { return self.check() };
        // SAFETY: C passes the place of a handle.
        let given = In(NonNull::new(unsafe { place.read() }));
        given.slot()?;
        let Some(slot) = given.0 else { return Ok(()) };
        if cfg!(debug_assertions) {
            locked(&LIVE).get_or_insert_default().remove(&slot.addr().get());
        }
        // SAFETY: `slot` said that it is one of ours and not freed; it came from a box.
        let mut freed = unsafe { Box::from_raw(slot.as_ptr()) };
        freed.kind = TypeId::of::<Freed>();
        drop(freed);
        self.put_null()
    }
}
