// What people write by hand with net/http and pgx.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

type plant struct {
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"`
}

type storedPlant struct {
	ID int64 `json:"id"`
	plant
}

type failure struct {
	Error   int    `json:"error"`
	Message string `json:"message"`
}

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /plants", func(w http.ResponseWriter, r *http.Request) {
		var body storedPlant
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			answer(w, http.StatusBadRequest, failure{40001, err.Error()})
			return
		}
		_, err := pool.Exec(r.Context(), "INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)", body.ID, body.Name, body.Tag)
		var taken *pgconn.PgError
		switch {
		case errors.As(err, &taken) && taken.Code == "23505":
			answer(w, http.StatusBadRequest, failure{40009, err.Error()})
		case err != nil:
			answer(w, http.StatusInternalServerError, failure{50000, err.Error()})
		default:
			answer(w, http.StatusOK, body.plant)
		}
	})
	mux.HandleFunc("GET /plants/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			answer(w, http.StatusBadRequest, failure{40004, err.Error()})
			return
		}
		found := storedPlant{ID: id}
		err = pool.QueryRow(r.Context(), "SELECT name, tag FROM plants WHERE id = $1", id).Scan(&found.Name, &found.Tag)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			answer(w, http.StatusNotFound, failure{40401, "not found"})
		case err != nil:
			answer(w, http.StatusInternalServerError, failure{50000, err.Error()})
		default:
			answer(w, http.StatusOK, found)
		}
	})

	mux.HandleFunc("GET /plants", func(w http.ResponseWriter, r *http.Request) {
		limit, limitErr := strconv.Atoi(cmp.Or(r.FormValue("limit"), "50"))
		after, afterErr := strconv.ParseInt(cmp.Or(r.FormValue("after"), "0"), 10, 64)
		if err := errors.Join(limitErr, afterErr); err != nil {
			answer(w, http.StatusBadRequest, failure{40004, err.Error()})
			return
		}
		query, values := "SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT $2", []any{after, limit}
		if tag := r.FormValue("tag"); tag != "" {
			query, values = "SELECT id, name, tag FROM plants WHERE id > $1 AND tag = $3 ORDER BY id LIMIT $2", append(values, tag)
		}
		// CollectRows also returns the error of Query.
		rows, _ := pool.Query(r.Context(), query, values...)
		page, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedPlant])
		if err != nil {
			answer(w, http.StatusInternalServerError, failure{50000, err.Error()})
			return
		}
		answer(w, http.StatusOK, page)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf(`{"msg":"listening","address":"%s"}`+"\n", listener.Addr())
	log.Fatal(http.Serve(listener, authenticated(mux)))
}

func authenticated(next http.Handler) http.Handler {
	expected := "Bearer " + os.Getenv("AUTH_TOKEN")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != expected {
			answer(w, http.StatusUnauthorized, failure{40100, "unauthorized"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
