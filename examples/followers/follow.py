import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

url, token = os.environ["PLANT_STORE_URL"], os.environ["PLANT_STORE_TOKEN"]
headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
position = int(sys.argv[1])
while True:
    request = urllib.request.Request(f"{url}/changes?after={position}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=45) as events:
            for line in events:
                if line.startswith(b"data:") and line.endswith(b"\n"):
                    change = json.loads(line.removeprefix(b"data:"))
                    print(change["position"], change["kind"], change["id"], flush=True)
                    position = change["position"]
    except urllib.error.HTTPError as refusal:
        if refusal.code not in (429, 502, 503, 504):
            raise
    except (OSError, http.client.HTTPException):
        pass  # The connection broke.
    time.sleep(1)
