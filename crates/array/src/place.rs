//! Where an array is: its store, path, key, and the injected clock and randomness of its writers.

use crate::Resources;
use crate::section_blocks::SectionBlocks;
use bytes::Bytes;
use smalti_codecs::{CodecRules, Encryption};
use smalti_format::fragment::FieldId;
use smalti_format::names::{FRAGMENT_METADATA_FILE, RESERVED_PREFIX, TimestampedName};
use smalti_format::{ArraySchema, GenericTileHeader, Reader, Version};
use smalti_store::{
    ByteRange, CachedStore, KeptStore, Lease, MeteredStore, Place, Store, StoreExt, Stores, SyncLevel,
    Traffic, join, split,
};
use smalti_tile::{DEFAULT_GENERIC_TILE_LIMIT, FieldCodec, beyond_limit, codec_rules, read_generic_tile};
use smalti_types::{AlignedBuf, EncryptionKey, Env, Error, Result};
use std::sync::{Arc, Mutex, Weak};

/// Files of metadata up to this length are read at once.
const SHORT_FILE_BYTE_LEN: u64 = 1 << 20;

/// Sections of a fragment's metadata up to this length are held as a whole: a million tiles' places. Those of longer ones are
/// worth finding when they are asked for.
const WHOLE_SECTION_BYTE_LEN: u64 = 8 << 20;

/// Where an array is, and what its readers and writers need to get there.
#[derive(Debug, Clone)]
pub struct ArrayPlace {
    /// Of a distant store, that with what the program keeps of its metadata.
    store: Arc<dyn Store>,
    /// That for tiles, which are kept as they are decoded: the store itself, or with a folder that keeps what comes from far away.
    data_store: Arc<dyn Store>,
    /// The store itself.
    base: Arc<dyn Store>,
    /// The same, of those who count what passes through it.
    meter: Option<Arc<MeteredStore<Arc<dyn Store>>>>,
    /// What keeps bytes of a distant store on this machine, if somebody asked for that.
    cached: Option<CachedStore>,
    path: String,
    /// Where the URIs lead that files of the array or group hold.
    stores: Stores,
    cipher: Option<Encryption>,
    env: Env,
    /// The most bytes of a generic tile, filtered or not.
    metadata_limit: u64,
    resources: Arc<Resources>,
    /// The most bytes of a section of a fragment's metadata that is held as a whole.
    whole_section_byte_len: u64,
    /// The claim of its open snapshots, which share it.
    pub(crate) readers: Arc<Mutex<Weak<Lease>>>,
}

/// The store of those who count, or the store.
fn of_meter(base: &Arc<dyn Store>, meter: Option<&Arc<MeteredStore<Arc<dyn Store>>>>) -> Arc<dyn Store> {
    match meter {
        Some(meter) => Arc::<MeteredStore<Arc<dyn Store>>>::clone(meter),
        None => Arc::clone(base),
    }
}

/// Whether a path is that of a file of a fragment: no other fragment ever has its name, and what is in it is written once. Repairs alone replace files there; they leave
/// [a trace](crate::ASIDE_FOLDER). An array may be called as fragments are: in its own folder all names begin like this.
fn is_of_fragment(path: &str) -> bool {
    let (folder, name) = split(path);
    let is_own = name == FRAGMENT_METADATA_FILE || !name.starts_with(RESERVED_PREFIX);
    is_own && TimestampedName::parse(split(folder).1).is_ok()
}

impl ArrayPlace {
    /// The place of a URI. Touches nothing; the array need not exist.
    ///
    /// # Errors
    /// `Unsupported` and `InvalidArgument` as [`Stores::open`].
    pub fn open(
        stores: &Stores,
        uri: &str,
        sync: SyncLevel,
        key: Option<EncryptionKey>,
        env: Env,
    ) -> Result<Self> {
        let Place { store, path } = stores.open(uri, sync)?;
        Ok(ArrayPlace { stores: stores.clone(), ..ArrayPlace::in_store(store, path, key, env) })
    }

    /// The place of the symbolic link that a URI names, what it leads to left aside; `None` where the URI's last part is no link.
    ///
    /// # Errors
    /// As [`open`](ArrayPlace::open).
    pub fn open_link(
        stores: &Stores,
        uri: &str,
        sync: SyncLevel,
        key: Option<EncryptionKey>,
        env: Env,
    ) -> Result<Option<Self>> {
        let link = stores.link(uri, sync)?;
        let place = |Place { store, path }| {
            let place = ArrayPlace::in_store(store, path, key, env);
            ArrayPlace { stores: stores.clone(), ..place }
        };
        Ok(link.map(place))
    }

    /// A path in a store, which alone is known: URIs in its files lead to no memory store.
    pub fn in_store(store: Arc<dyn Store>, path: String, key: Option<EncryptionKey>, env: Env) -> Self {
        let cipher = key.map(|key| Encryption { key, entropy: Arc::clone(&env.entropy) });
        let metadata_limit = DEFAULT_GENERIC_TILE_LIMIT;
        ArrayPlace {
            data_store: Arc::clone(&store),
            base: Arc::clone(&store),
            meter: None,
            cached: None,
            store,
            path,
            stores: Stores::new(),
            cipher,
            env,
            metadata_limit,
            resources: Arc::default(),
            whole_section_byte_len: WHOLE_SECTION_BYTE_LEN,
            readers: Arc::default(),
        }
    }

    /// The same place, of whose metadata no part may take more bytes than so many, on disk or in memory: schemas, the lists of
    /// fragments, delete conditions, each alone. 1 GiB where nobody says.
    #[must_use]
    pub fn with_metadata_limit(self, byte_len: u64) -> Self {
        ArrayPlace { metadata_limit: byte_len, ..self }
    }

    /// The same place, with the memory and the caches that the whole program shares.
    #[must_use]
    pub fn with_resources(self, resources: &Arc<Resources>) -> Self {
        let place = ArrayPlace { resources: Arc::clone(resources), ..self };
        place.reaching(Arc::clone(&place.base), place.meter.clone())
    }

    /// The same place, which counts what passes between it and the store from now on, for itself and its clones.
    #[must_use]
    pub fn metered(&self) -> Self {
        let meter = MeteredStore::new(Arc::clone(&self.base));
        self.reaching(Arc::clone(&self.base), Some(Arc::new(meter)))
    }

    /// What passed between the place and the store since somebody wanted it [counted](ArrayPlace::metered).
    pub fn traffic(&self) -> Traffic {
        self.meter.as_ref().map_or_else(Traffic::default, |meter| meter.traffic())
    }

    /// The same place in another store. What is kept of it, on disk and in memory, is not counted again.
    fn reaching(&self, base: Arc<dyn Store>, meter: Option<Arc<MeteredStore<Arc<dyn Store>>>>) -> Self {
        let keeps = base.is_distant() && self.resources.metadata_capacity() > 0;
        let asked = of_meter(&base, meter.as_ref());
        let cache = if keeps { self.stores.disk_cache() } else { None };
        let cached = cache.map(|cache| CachedStore::new(Arc::clone(&asked), cache, is_of_fragment));
        let data_store = cached.as_ref().map_or(asked, |cached| Arc::new(cached.clone()));
        let store: Arc<dyn Store> = match keeps {
            true => Arc::new(KeptStore::new(Arc::clone(&data_store), Arc::clone(self.resources.metadata()))),
            false => Arc::clone(&data_store),
        };
        ArrayPlace { store, data_store, base, meter, cached, ..self.clone() }
    }

    /// The store with nothing kept: for those who read what nobody will read again.
    pub fn direct_store(&self) -> Arc<dyn Store> {
        of_meter(&self.base, self.meter.as_ref())
    }

    /// Takes no file of the array from the disk by its name alone from now on: something in it was repaired.
    pub(crate) fn distrust_names(&self) {
        if let Some(cached) = &self.cached {
            cached.distrust_names_in(&self.path);
        }
    }

    /// What went wrong on this machine while bytes of a distant store were kept there, once.
    pub(crate) fn take_cache_trouble(&self) -> Option<String> {
        // Settings that are of no concern are not looked at.
        let cache = if self.base.is_distant() { self.stores.disk_cache() } else { None };
        cache?.take_trouble()
    }

    /// The same place for those who check it: everything is read from the store itself.
    #[must_use]
    pub fn fresh(&self) -> Self {
        self.clone().with_resources(&Arc::new(self.resources.uncached()))
    }

    /// The memory and the caches of those who work here.
    pub fn resources(&self) -> &Arc<Resources> {
        &self.resources
    }

    /// The same place, which holds no section of a fragment's metadata of more bytes than so many: longer ones are read where they are
    /// asked. 8 MiB where nobody says; for tests.
    #[must_use]
    pub fn with_whole_sections(self, byte_len: u64) -> Self {
        ArrayPlace { whole_section_byte_len: byte_len, ..self }
    }

    /// The most bytes of a section that is held as a whole.
    pub(crate) fn whole_section_byte_len(&self) -> u64 {
        self.whole_section_byte_len
    }

    /// The decoded blocks of longer sections.
    pub(crate) fn section_blocks(&self) -> &Arc<SectionBlocks> {
        self.resources.section_blocks()
    }

    /// Bytes of long sections that were decoded so far.
    pub fn decoded_section_byte_len(&self) -> u64 {
        self.section_blocks().decoded_byte_len()
    }

    /// The most bytes of a part of the metadata.
    pub fn metadata_limit(&self) -> u64 {
        self.metadata_limit
    }

    /// Another place with the same key and surroundings.
    ///
    /// # Errors
    /// As [`open`](ArrayPlace::open).
    pub(crate) fn at(&self, uri: &str) -> Result<Self> {
        let Place { store, path } = self.stores.open(uri, SyncLevel::None)?;
        Ok(ArrayPlace { path, readers: Arc::default(), ..self.reaching(store, None) })
    }

    /// The same place, with its store in another one that wraps it: for tests, and for those who count.
    #[must_use]
    pub fn seen_through(&self, wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        ArrayPlace { readers: Arc::default(), ..self.reaching(wrap(self.direct_store()), None) }
    }

    /// The same place, reached through another store.
    pub(crate) fn with_store(&self, store: Arc<dyn Store>) -> Self {
        ArrayPlace { store, ..self.clone() }
    }

    /// The bytes that are read at once of a file that is one generic tile. From far away all that may be of use.
    pub(crate) fn tile_file_byte_len(&self) -> u64 {
        match self.store.is_distant() {
            true => self.metadata_limit,
            false => SHORT_FILE_BYTE_LEN.min(self.metadata_limit),
        }
    }

    /// Another path in the same store, with the same key and surroundings.
    pub(crate) fn beside(&self, path: &str) -> Self {
        ArrayPlace { path: path.to_owned(), readers: Arc::default(), ..self.clone() }
    }

    /// Where URIs lead.
    pub(crate) fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The store as tiles are read from it: nothing of their bytes is kept.
    pub fn data_store(&self) -> &Arc<dyn Store> {
        &self.data_store
    }

    /// The array's path in the store.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The array's address for people.
    pub fn uri(&self) -> String {
        self.store.address(&self.path)
    }

    /// The array's address as files hold it for libtiledb: a URI with its scheme, without percent-encoding.
    pub fn foreign_uri(&self) -> String {
        let address = self.uri();
        if address.starts_with('/') { format!("file://{address}") } else { address }
    }

    /// The encryption of the array, if it has a key.
    pub fn cipher(&self) -> Option<&Encryption> {
        self.cipher.as_ref()
    }

    /// Clock and randomness.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The path of something in the array's folder.
    pub fn join(&self, below: &str) -> String {
        join(&self.path, below)
    }

    /// Reads a file that is one generic tile.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Permission`; the file is named.
    pub fn read_tile_file(&self, path: &str) -> Result<AlignedBuf> {
        let named = |error: Error| error.at_uri(self.store.address(path));
        let tail = self.store.read_tail(path, self.tile_file_byte_len())?;
        let bytes = if tail.bytes.len() as u64 == tail.file_byte_len {
            tail.bytes
        } else {
            self.read_first_tile(path, tail.file_byte_len).map_err(named)?
        };
        self.open_tile(&bytes).map(|(tile, _)| tile).map_err(named)
    }

    /// The bytes of the tile at the start of a long file: there may be more behind it, of whatever size.
    fn read_first_tile(&self, path: &str, file_byte_len: u64) -> Result<Bytes> {
        let part = |byte_len| self.store.read_at(path, ByteRange { start: 0, byte_len });
        let base = part(GenericTileHeader::BASE_LEN.min(file_byte_len))?;
        let header_len = GenericTileHeader::header_len(&base)?;
        if header_len > self.metadata_limit.min(file_byte_len) {
            return Err(beyond_limit(header_len, self.metadata_limit.min(file_byte_len)));
        }
        let header = GenericTileHeader::decode(&mut Reader::new(&part(header_len)?))?;
        let byte_len = header_len.saturating_add(header.filtered_len);
        if byte_len > self.metadata_limit {
            return Err(beyond_limit(byte_len, self.metadata_limit));
        }
        part(byte_len.min(file_byte_len))
    }

    /// The bytes of a file of metadata.
    ///
    /// # Errors
    /// `NotFound`; `OutOfMemory` when it is longer than the limit.
    pub fn read_metadata_file(&self, path: &str) -> Result<Bytes> {
        self.store.read_all(path, self.metadata_limit)
    }

    /// Unfilters the generic tile at the start of some bytes, and says how many it takes there.
    ///
    /// # Errors
    /// `Corrupt`; `Permission` for a wrong key; `OutOfMemory` beyond the limit.
    pub fn open_tile(&self, bytes: &[u8]) -> Result<(AlignedBuf, u64)> {
        self.resources
            .decoders()
            .with(|decoder| read_generic_tile(bytes, self.cipher(), self.metadata_limit, decoder))
    }

    /// The codecs of a field in fragments of a version. They go by the rules of the schema's version, which fragments that
    /// newer libraries add to old arrays keep too.
    ///
    /// # Errors
    /// `Unsupported` for filters that cannot run on the field.
    pub fn field_codec(&self, schema: &ArraySchema, fragment: Version, field: FieldId) -> Result<FieldCodec> {
        self.field_codec_by(codec_rules(schema.version), schema, fragment, field)
    }

    /// As [`field_codec`](ArrayPlace::field_codec), by rules that the caller has.
    pub(crate) fn field_codec_by(
        &self,
        rules: CodecRules,
        schema: &ArraySchema,
        fragment: Version,
        field: FieldId,
    ) -> Result<FieldCodec> {
        let shape = crate::field_shape(schema, field)?;
        let mut filters = crate::field_filters(schema, fragment, field)?;
        let images = match field {
            FieldId::Attribute(idx) => {
                schema.attributes.get(idx).and_then(|attribute| schema.image_filters(attribute))
            }
            _ => None,
        };
        if let Some(images) = &images {
            filters.data = images;
        }
        FieldCodec::new(shape, filters, rules, self.cipher()).map_err(|error: Error| {
            error.context(format_args!("field {:?}", crate::field_name(schema, field)))
        })
    }
}
