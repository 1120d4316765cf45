//! What most programs use: `use smalti::prelude::*;`

pub use crate::{
    Array, Attribute, Columns, Datatype, Dimension, EncryptionKey, Enumeration, Error, ErrorKind, Filter,
    Label, Layout, Options, Schema, Value,
};
