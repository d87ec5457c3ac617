#!/usr/bin/env bash
# Runs a command with a Docker engine and Compose: `test/compose/with-engine.sh npm run test:compose`.
#
# If none runs here, Debian's engine is started, in a folder and with containers that are removed afterwards. It changes neither
# the firewall nor the routes of this machine, so its containers reach this machine only. Compose and Buildx are built, because
# Debian 12 has no version 2 of Compose. Images that no registry gives are stood in for: Debian with Node.js, and with PostgreSQL.
set -euo pipefail
cd "$(dirname "$0")/../.."

if docker info > /dev/null 2>&1 && docker compose version > /dev/null 2>&1; then exec "$@"; fi
if [[ $EUID -ne 0 ]]; then
  echo 'No Docker engine, and only root can start one: skipped the test of the local stack.'
  exit
fi

packages=()
[[ -x /usr/sbin/dockerd ]] || packages+=(docker.io)
for package in iptables mmdebstrap; do
  command -v "$package" > /dev/null || packages+=("$package")
done
if [[ ${#packages[@]} -gt 0 ]]; then
  apt-get update
  apt-get install --yes --no-install-recommends "${packages[@]}"
fi

folder=$(mktemp --directory)
export DOCKER_HOST="unix://$folder/docker.sock" DOCKER_CONFIG="$folder/config"
export COMPOSE_FILE=docker-compose.yml:test/compose/host-network.yml
mkdir -p "$DOCKER_CONFIG/cli-plugins"

# Compose makes its own networks, and publishes ports through a proxy process if there is no firewall.
/usr/sbin/dockerd --host="$DOCKER_HOST" --data-root="$folder/data" --exec-root="$folder/exec" \
  --pidfile="$folder/dockerd.pid" --bridge=none --iptables=false --ip-forward=false > "$folder/dockerd.log" 2>&1 &
engine=$!
clean_up() {
  if kill -0 "$engine" 2> /dev/null; then
    docker ps --all --quiet | xargs --no-run-if-empty docker rm --force > /dev/null || true
    # Their bridges would stay.
    docker network prune --force > /dev/null || true
    kill "$engine"
  fi
  wait || true
  rm -rf "$folder"
}
trap clean_up EXIT

for ((tries = 0; tries < 120; tries++)); do
  docker info > /dev/null 2>&1 && break
  kill -0 "$engine" 2> /dev/null || break
  sleep 0.5
done
if ! docker info > /dev/null 2>&1; then
  echo "Debian's Docker engine does not start here: skipped the test of the local stack. $(tail --lines=1 "$folder/dockerd.log")"
  exit
fi

# Compose asks Buildx for its version.
plugin() {
  local name=$1 package=$2 variable=$3 version
  version=$(go -C test/compose/plugins list -f '{{.Module.Version}}' "$package")
  go -C test/compose/plugins build -trimpath -ldflags="-s -w -X $variable=$version" \
    -o "$DOCKER_CONFIG/cli-plugins/docker-$name" "$package"
}
{
  plugin compose github.com/docker/compose/v2/cmd github.com/docker/compose/v2/internal.Version
  plugin buildx github.com/docker/buildx/cmd/buildx github.com/docker/buildx/version.Version
} &
plugins=$!

node_image=$(sed -n 's/^FROM \(node:\S*\)$/\1/p' Dockerfile)
postgres_image=$(sed -n 's/^ *image: \(postgres:\S*\)$/\1/p' docker-compose.yml)
missing=
for image in "$node_image" "$postgres_image"; do
  timeout 300 docker pull --quiet "$image" 2> /dev/null || missing=$image
done
if [[ -n "$missing" ]]; then source test/compose/stand-ins.sh; fi

wait "$plugins"
"$@"
