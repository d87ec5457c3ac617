#!/usr/bin/env bash
# First requests with curl: bash examples/first-plants.sh
# After the two variables are set, you can also paste each command into a terminal.
set -euo pipefail

PLANT_STORE_URL="${PLANT_STORE_URL:-http://localhost:3000}"
# `npm start` writes its token to .data/token; `docker compose up` prints its token to the log.
PLANT_STORE_TOKEN="${PLANT_STORE_TOKEN:-$(cat "${PLANT_STORE_TOKEN_FILE:-.data/token}")}"

# Create a plant. The answer is the plant without its id.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Monstera", "tag": "indoor"}'

# Repeat the request, as after a lost answer: the answer is the same, and nothing changes.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Monstera", "tag": "indoor"}'

# The same id with different content is refused, and the stored plant stays. The error number gives the reason.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Ficus"}'

# An invalid plant is refused. The message names the property and the rule.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2002, "name": null}'

# The largest id keeps every digit. The tag is optional.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 9223372036854775807, "name": "月下美人"}'

# Look up a plant.
curl -sS "$PLANT_STORE_URL/plants/9223372036854775807" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN"

# A request without a token is refused.
curl -sS "$PLANT_STORE_URL/plants/2001" -w '\n'
