// A server with msgpack-rpc (crates.io).
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use msgpack_rpc::{serve, Service, Value};
use tokio::net::TcpListener;
use tokio_util::compat::TokioAsyncReadCompatExt;

static CALLS: AtomicU64 = AtomicU64::new(0);

fn subtract(given: &[Value]) -> Result<Value, Value> {
    match given {
        [Value::Integer(first), Value::Integer(second)] => {
            match (first.as_i64(), second.as_i64()) {
                (Some(first), Some(second)) => Ok((first - second).into()),
                _ => Err("an integer beyond 64 bits".into()),
            }
        }
        [first, second] => match (first.as_f64(), second.as_f64()) {
            (Some(first), Some(second)) => Ok((first - second).into()),
            _ => Err("expected two numbers".into()),
        },
        _ => Err("expected two arguments".into()),
    }
}

fn call(method: &str, given: &[Value]) -> Result<Value, Value> {
    match method {
        "echo" => Ok(Value::Array(given.to_vec())),
        "subtract" => subtract(given),
        "nothing" if given.is_empty() => Ok(Value::Nil),
        "count" if given.is_empty() => Ok((CALLS.fetch_add(1, Ordering::SeqCst) + 1).into()),
        "fail" => Err("this procedure fails".into()),
        "nothing" | "count" => Err("expected no arguments".into()),
        _ => Err("no such procedure".into()),
    }
}

#[derive(Clone)]
struct Survey;

impl Service for Survey {
    type RequestFuture = Pin<Box<dyn Future<Output = Result<Value, Value>> + Send>>;

    fn handle_request(&mut self, method: &str, given: &[Value]) -> Self::RequestFuture {
        if let ("sleep", Some(seconds)) = (method, given.first().and_then(Value::as_f64)) {
            return Box::pin(async move {
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                Ok(Value::Nil)
            });
        }
        Box::pin(futures::future::ready(call(method, given)))
    }

    fn handle_notification(&mut self, method: &str, given: &[Value]) {
        let _ = call(method, given);
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).expect("a port");
    let listening = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    loop {
        let (socket, _) = listening.accept().await?;
        tokio::spawn(serve(socket.compat(), Survey));
    }
}
