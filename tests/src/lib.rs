//! Lab scenarios, the vocabulary they are written in, and the lab guest's init.

pub mod guest;
pub mod lab;
pub mod scenarios;
pub mod target;
