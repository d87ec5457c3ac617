#!/usr/bin/env bash
# What the stack uses of the entrypoint of the image postgres (https://github.com/docker-library/postgres).
set -euo pipefail

if [[ $EUID -eq 0 ]]; then
  install --directory --owner=postgres --mode=0700 "$PGDATA"
  install --directory --owner=postgres --mode=3777 /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups --inh-caps=-all "$0" "$@"
fi

if [[ ! -s "$PGDATA/PG_VERSION" ]]; then
  password="${POSTGRES_PASSWORD:-$(cat "${POSTGRES_PASSWORD_FILE:-/dev/null}")}"
  initdb --username="$POSTGRES_USER" --pwfile=<(echo "$password") --auth-local=trust --auth-host=trust
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'
unix_socket_directories = '/var/run/postgresql'" >> "$PGDATA/postgresql.conf"
  pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
fi
exec "$@"
