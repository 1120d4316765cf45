//! The command line: every command with its arguments, and the options that all of them share.

mod check;
mod commands;
mod global;
mod group;
mod object;
mod read;
mod upkeep;
mod write;

pub(crate) use check::{CheckArgs, DiffArgs, DigestArgs, FsckArgs, RepairArgs, SalvageArgs};
pub(crate) use commands::{
    AggregateArgs, ArrayArgs, Cli, Command, CreateArgs, DeleteArgs, DemoArgs, EvolveArgs, ExplainArgs,
    InspectArgs, MetaAction, MetaArgs, UpgradeArgs,
};
pub(crate) use global::{Global, OpenTimes, Sync};
pub(crate) use group::{GroupAction, GroupAddArgs, GroupArgs, GroupListArgs, Kind};
pub(crate) use object::{LsArgs, MvArgs, Order, RmArgs};
pub(crate) use read::{Dates, Enums, Notation, OutputFormat, ReadArgs};
pub(crate) use upkeep::{
    ConsolidateArgs, FragmentArgs, FragmentsAction, FragmentsArgs, UpkeepMode, VacuumArgs,
};
pub(crate) use write::{InputFormat, WriteArgs};
