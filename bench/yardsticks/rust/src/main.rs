//! What people write by hand with axum and tokio-postgres.

use std::env;

use axum::extract::{Path, Query, Request, State};
use axum::http::{header, StatusCode};
use axum::middleware::{from_fn, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::{Manager, ManagerConfig, Pool, PoolError, RecyclingMethod};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_postgres::error::SqlState;
use tokio_postgres::NoTls;

#[derive(Deserialize, Serialize)]
struct Plant {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct StoredPlant {
    id: i64,
    #[serde(flatten)]
    plant: Plant,
}

struct Failure(StatusCode, i32, String);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1, "message": self.2 }))).into_response()
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Failure(StatusCode::INTERNAL_SERVER_ERROR, 50000, error.to_string())
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        if error.code() == Some(&SqlState::UNIQUE_VIOLATION) {
            return Failure(StatusCode::BAD_REQUEST, 40009, error.to_string());
        }
        Failure(StatusCode::INTERNAL_SERVER_ERROR, 50000, error.to_string())
    }
}

async fn create(
    State(pool): State<Pool>,
    Json(StoredPlant { id, plant }): Json<StoredPlant>,
) -> Result<Json<Plant>, Failure> {
    let client = pool.get().await?;
    let insert = client
        .prepare_cached("INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)")
        .await?;
    client
        .execute(&insert, &[&id, &plant.name, &plant.tag])
        .await?;
    Ok(Json(plant))
}

async fn look_up(
    State(pool): State<Pool>,
    Path(id): Path<i64>,
) -> Result<Json<StoredPlant>, Failure> {
    let client = pool.get().await?;
    let select = client
        .prepare_cached("SELECT name, tag FROM plants WHERE id = $1")
        .await?;
    let row = client
        .query_opt(&select, &[&id])
        .await?
        .ok_or_else(|| Failure(StatusCode::NOT_FOUND, 40401, "not found".into()))?;
    let plant = Plant {
        name: row.get(0),
        tag: row.get(1),
    };
    Ok(Json(StoredPlant { id, plant }))
}

#[derive(Deserialize)]
struct Page {
    limit: Option<i64>,
    after: Option<i64>,
    tag: Option<String>,
}

async fn list(
    State(pool): State<Pool>,
    Query(Page { limit, after, tag }): Query<Page>,
) -> Result<Json<Vec<StoredPlant>>, Failure> {
    let client = pool.get().await?;
    let (after, limit) = (after.unwrap_or(0), limit.unwrap_or(50));
    let rows = match tag {
        None => {
            let select = client
                .prepare_cached("SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT $2")
                .await?;
            client.query(&select, &[&after, &limit]).await?
        }
        Some(tag) => {
            let select = client
                .prepare_cached("SELECT id, name, tag FROM plants WHERE id > $1 AND tag = $3 ORDER BY id LIMIT $2")
                .await?;
            client.query(&select, &[&after, &limit, &tag]).await?
        }
    };
    Ok(Json(
        rows.iter()
            .map(|row| StoredPlant {
                id: row.get(0),
                plant: Plant {
                    name: row.get(1),
                    tag: row.get(2),
                },
            })
            .collect(),
    ))
}

async fn authenticate(expected: String, request: Request, next: Next) -> Response {
    match request.headers().get(header::AUTHORIZATION) {
        Some(value) if *value == expected => next.run(request).await,
        _ => Failure(StatusCode::UNAUTHORIZED, 40100, "unauthorized".into()).into_response(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manager = Manager::from_config(
        env::var("DATABASE_URL")?.parse()?,
        NoTls,
        ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        },
    );
    let pool = Pool::builder(manager).max_size(10).build()?;
    let expected = format!("Bearer {}", env::var("AUTH_TOKEN")?);
    let app = Router::new()
        .route("/plants", post(create).get(list))
        .route("/plants/{id}", get(look_up))
        .layer(from_fn(move |request, next| {
            authenticate(expected.clone(), request, next)
        }))
        .with_state(pool);
    let listener =
        tokio::net::TcpListener::bind(format!("127.0.0.1:{}", env::var("PORT")?)).await?;
    println!(
        r#"{{"msg":"listening","address":"{}"}}"#,
        listener.local_addr()?
    );
    axum::serve(listener, app).await?;
    Ok(())
}
