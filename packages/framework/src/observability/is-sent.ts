import type { ServerResponse } from 'node:http';

/** Whether a closed response was sent. `writableFinished` is also true if the connection broke. */
export function isSent({ writableFinished, req: { socket } }: ServerResponse): boolean {
  return writableFinished && socket.errored === null;
}
