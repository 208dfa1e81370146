//! Ports that only lead to another container, as those of load balancers and of nodes without the API server do.

use tokio::net::{TcpListener, TcpStream};

/// Forwards connections to the same port of `host`, a container's name, until dropped.
pub(super) async fn run(port: u16, host: String) -> std::io::Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", port)).await?;
    loop {
        let (mut near, _) = listener.accept().await?;
        let host = host.clone();
        tokio::spawn(async move {
            // A server that cannot be reached shows as a connection that ends at once.
            if let Ok(mut far) = TcpStream::connect((host.as_str(), port)).await {
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            }
        });
    }
}
