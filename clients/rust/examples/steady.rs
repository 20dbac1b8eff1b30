//! Makes IDs at a steady rate, and writes each as eight bytes, the highest first. Arguments:
//! --addrs --name --ca --token-file --ids --seconds --out. The tests of several languages run it.

use snowgrid::{Create, Error, Options};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[allow(dead_code)] // the crate with TLS has its own
fn main() -> Result<()> {
    run(|options, _| Ok(options))
}

/// Makes the IDs; `transport` adds one to the options, by the file of the authority.
pub fn run(transport: fn(Options, &str) -> std::result::Result<Options, Error>) -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flags: HashMap<&str, &str> =
        args.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let total: usize = flags["--ids"].parse()?;
    let chunk = (total / flags["--seconds"].parse::<usize>()? / 20).max(1);
    let options = Options::new(flags["--name"], flags["--addrs"].split(','))
        .create(Create::default())
        .token_file(flags["--token-file"]);
    let ids = transport(options, flags["--ca"])?.generator()?;
    let mut out = BufWriter::new(File::create(flags["--out"])?);
    let mut made = 0;
    while made < total {
        for id in ids.next_many(chunk.min(total - made), Duration::from_secs(300))? {
            out.write_all(&id.to_be_bytes())?;
            made += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    out.flush()?;
    Ok(())
}
