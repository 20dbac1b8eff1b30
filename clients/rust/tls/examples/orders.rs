//! Prints some IDs of a grid with security, by a token or by a certificate. In this directory:
//! `cargo run --example orders https://127.0.0.1:7948 ca.crt token`
//! `cargo run --example orders https://127.0.0.1:7948 ca.crt holder.crt holder.key`

use snowgrid::{Create, Error, Options};
use snowgrid_tls::Tls;
use std::time::Duration;

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let tls = |ca: &str| Tls::new().ca_file(ca);
    let options = |address: &str| Options::new("orders", [address]).create(Create::default());
    let options = match args[..] {
        [address, ca, token] => options(address).transport(tls(ca).http()?).token_file(token),
        [address, ca, cert, key] => {
            options(address).transport(tls(ca).certificate(cert, key).http()?)
        }
        _ => panic!("give an address, the file of the authority, and a token or two more files"),
    };
    let ids = options.generator()?;
    for id in ids.next_many(3, Duration::from_secs(5))? {
        println!("{id}");
    }
    Ok(()) // drop releases the grant
}
