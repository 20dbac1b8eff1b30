//! The example steady of the crate snowgrid, over TLS.

use snowgrid_tls::Tls;

#[path = "../../examples/steady.rs"]
mod steady;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    steady::run(|options, ca| Ok(options.transport(Tls::new().ca_file(ca).http()?)))
}
