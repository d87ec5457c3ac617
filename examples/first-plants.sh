#!/usr/bin/env bash
# The first five minutes with a plant store, in curl: bash examples/first-plants.sh
# Each command can be pasted by itself, once the two variables are set.
set -euo pipefail

PLANT_STORE_URL="${PLANT_STORE_URL:-http://localhost:3000}"
# `npm start` keeps its token in .data/token; the token of `docker compose up` is in its log.
PLANT_STORE_TOKEN="${PLANT_STORE_TOKEN:-$(cat "${PLANT_STORE_TOKEN_FILE:-.data/token}")}"

# Create a plant. The answer is the plant, without its id.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Monstera", "tag": "indoor"}'

# The same again, as when the answer was lost: the same answer, and nothing changes.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Monstera", "tag": "indoor"}'

# The id of another plant is refused, and the plant stays as it was. The number tells why.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2001, "name": "Ficus"}'

# So is what is not a plant. The message names the member and the rule.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 2002, "name": null}'

# The largest id: no digit gets lost. A tag need not be given.
curl -sS "$PLANT_STORE_URL/plants" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN" \
  -H "Content-Type: application/json" \
  -d '{"id": 9223372036854775807, "name": "月下美人"}'

# Look at a plant.
curl -sS "$PLANT_STORE_URL/plants/9223372036854775807" -w '\n' \
  -H "Authorization: Bearer $PLANT_STORE_TOKEN"

# Nothing is answered without the token.
curl -sS "$PLANT_STORE_URL/plants/2001" -w '\n'
