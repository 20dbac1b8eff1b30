//! Prints some IDs and their parts: `cargo run --example basic http://127.0.0.1:7948`

use snowgrid::{Create, Error, Options};
use std::time::Duration;

fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1).unwrap_or("http://127.0.0.1:7948".to_owned());
    let ids = Options::new("orders", [address]).create(Create::default()).generator()?;
    let timeout = Duration::from_secs(5);
    let layout = ids.layout(timeout)?;
    for id in ids.next_many(3, timeout)? {
        println!("{id} {:?}", layout.decompose(id));
    }
    Ok(()) // drop releases the grant
}
