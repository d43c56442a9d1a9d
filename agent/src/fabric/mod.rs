//! The domain: types and rules.
