//! What an array stands on in simulations: a disk, or a bucket.

use super::baton::{Baton, TurnDisk};
use super::{place_in, place_on};
use smalti_array::ArrayPlace;
use smalti_store::{
    BucketImage, BucketStep, BucketStore, DiskOp, Image, LocalStore, ManualClock, SimDisk, Store, SyncLevel,
};
use smalti_types::{Clock, Env};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// All that there is at a moment.
pub trait Ground: Clone + Default {
    /// What is used.
    type Live: Clone;
    /// A step that changed something.
    type Step: Clone + Debug;

    /// Something that holds what is there.
    fn live(&self) -> Self::Live;

    /// What is there now.
    fn image_of(live: &Self::Live) -> Self;

    /// The steps so far.
    fn steps_of(live: &Self::Live) -> Vec<Self::Step>;

    /// The array on it.
    fn place(live: &Self::Live) -> ArrayPlace;

    /// The array on it as a user has it who takes each step in turn.
    fn place_in_turn(live: &Self::Live, baton: &Arc<Baton>, user: usize) -> ArrayPlace;

    /// The same, as it looks in a schedule.
    fn in_schedule(live: Self::Live, seed: u64) -> Self::Live;
}

impl Ground for Image {
    type Live = SimDisk;
    type Step = DiskOp;

    fn live(&self) -> SimDisk {
        SimDisk::from_image(self)
    }

    fn image_of(live: &SimDisk) -> Image {
        live.image()
    }

    fn steps_of(live: &SimDisk) -> Vec<DiskOp> {
        live.ops()
    }

    fn place(live: &SimDisk) -> ArrayPlace {
        place_on(live)
    }

    fn place_in_turn(live: &SimDisk, baton: &Arc<Baton>, user: usize) -> ArrayPlace {
        let disk = TurnDisk::new(live.clone(), Arc::clone(baton), user);
        place_in(Arc::new(LocalStore::on(disk, SyncLevel::Full)))
    }

    /// In one of two, commits and folders of fragments are listed at once.
    fn in_schedule(live: SimDisk, seed: u64) -> SimDisk {
        if seed / 16 % 2 == 1 { live.with_long_folders() } else { live }
    }
}

impl Ground for BucketImage {
    type Live = BucketStore;
    type Step = BucketStep;

    fn live(&self) -> BucketStore {
        BucketStore::from_image(self)
    }

    fn image_of(live: &BucketStore) -> BucketImage {
        live.image()
    }

    fn steps_of(live: &BucketStore) -> Vec<BucketStep> {
        live.steps()
    }

    fn place(live: &BucketStore) -> ArrayPlace {
        place_in_bucket(live.clone(), clock_ms(live))
    }

    fn place_in_turn(live: &BucketStore, baton: &Arc<Baton>, user: usize) -> ArrayPlace {
        let (now_ms, baton) = (clock_ms(live), Arc::clone(baton));
        place_in_bucket(live.clone().calling(move || baton.step(user, true)), now_ms)
    }

    /// In one of two, what is sent side by side arrives in the opposite order.
    fn in_schedule(live: BucketStore, seed: u64) -> BucketStore {
        if seed / 16 % 2 == 1 { live.reversed() } else { live }
    }
}

/// What clocks say beside a bucket: they begin at 1, before all times of the operations, and go on with the bucket's.
pub fn clock_ms(bucket: &BucketStore) -> u64 {
    bucket.image().now_ms() - BucketImage::default().now_ms() + 1
}

/// The array in a bucket, with a clock.
pub fn place_in_bucket(bucket: BucketStore, now_ms: u64) -> ArrayPlace {
    place_with_clock(Arc::new(bucket), now_ms)
}

/// The array in a store, with a clock.
pub fn place_with_clock(store: Arc<dyn Store>, now_ms: u64) -> ArrayPlace {
    place_by(ManualClock::new(now_ms), store)
}

/// The array in a store that nobody else uses, with a clock: nobody is waited for.
pub fn lone_place(store: Arc<dyn Store>, now_ms: u64) -> ArrayPlace {
    place_by(LoneClock { now_ms, waited_ms: AtomicU64::new(0) }, store)
}

fn place_by(clock: impl Clock + 'static, store: Arc<dyn Store>) -> ArrayPlace {
    let mut env: Env = place_in(Arc::clone(&store)).env().clone();
    env.clock = Arc::new(clock) as Arc<dyn Clock>;
    ArrayPlace::in_store(store, "array".into(), None, env)
}

/// A clock that stands still, by which every wait is over at once.
struct LoneClock {
    now_ms: u64,
    waited_ms: AtomicU64,
}

impl Clock for LoneClock {
    fn now_ms(&self) -> u64 {
        self.now_ms
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.waited_ms.load(Ordering::SeqCst))
    }

    fn wait(&self, time: Duration) {
        let waited_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.waited_ms.fetch_add(waited_ms, Ordering::SeqCst);
    }
}
