//! What most programs use: `use smalti::prelude::*;`

pub use crate::{
    Array, Attribute, Columns, Condition, Datatype, Dimension, EncryptionKey, Error, ErrorKind, Filter, Group,
    Layout, Options, Schema, Value, field,
};
