//! Lab scenarios and the vocabulary they are written in.

pub mod lab;
