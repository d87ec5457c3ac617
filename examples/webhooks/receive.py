import base64
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY = 1_000_000
TOLERANCE = 300  # seconds
key = base64.b64decode(os.environ["PLANT_STORE_WEBHOOK_SECRET"].removeprefix("whsec_"))
if not key:
    raise SystemExit("PLANT_STORE_WEBHOOK_SECRET is missing")


def is_genuine(headers, body):
    message_id, timestamp, signatures = (
        headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature")
    )
    # Others could send an old message again.
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return False
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    expected = b"v1," + base64.b64encode(digest)
    # There are two while the secret is replaced.
    return any(hmac.compare_digest(expected, given.encode()) for given in signatures.split())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(self.receive())
        self.end_headers()

    def receive(self):
        length = int(self.headers.get("Content-Length", MAX_BODY + 1))
        if not 0 <= length <= MAX_BODY:
            return 413
        # The signature is of these bytes: JSON that is written again may have others.
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            return 400
        message = json.loads(body)
        # It may come again: store its id together with what you do, before you respond.
        print(self.headers["webhook-id"], message["type"], json.dumps(message["data"]), flush=True)
        return 204


ThreadingHTTPServer(("", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
