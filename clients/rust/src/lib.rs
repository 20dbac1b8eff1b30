//! Unique, time-ordered 64-bit IDs, made in the process under a grant of a snowgrid grid.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! let ids = snowgrid::Options::new("orders", ["http://127.0.0.1:7948"])
//!     .create(Default::default())
//!     .generator()?;
//! let id: i64 = ids.next(Duration::from_secs(5))?;
//! # Ok::<(), snowgrid::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod failure;
mod generator;
pub mod grant;
pub mod http;
#[doc(hidden)]
pub mod json;
mod options;
mod shared;

pub use error::Error;
pub use generator::Generator;
pub use grant::{Layout, Parts};
pub use http::{Http, Transport};
pub use options::{Create, Options};
