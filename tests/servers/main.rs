//! Object stores, against servers that run on this machine: moto, which is Python and knows all conditions of S3; s3s-fs, which is Rust, in this process,
//! and fast, but checks conditions before it writes; Azurite, which is Node's, for Azure; and a stub of Google's store in this process.
//!
//! moto is started by the Python that `SMALTI_SERVERS_PYTHON` names, Azurite from the program that `SMALTI_SERVERS_AZURITE` names; `cargo xtask servers`
//! installs both. The tests of one that is not there say so and pass, unless `SMALTI_SERVERS_ALL` asks for all servers.
#![deny(unsafe_code)]

mod arrays;
mod bad_input;
mod behind;
mod buckets;
mod cache;
mod certificate;
mod conforms;
mod corpus;
mod gcs;
mod hostile;
mod http;
mod kills;
mod programs;
mod races;
mod server;
mod site;
mod told;
