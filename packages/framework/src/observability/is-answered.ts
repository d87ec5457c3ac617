import type { ServerResponse } from 'node:http';

/** Whether a closed response was sent. `writableFinished` alone is also true if the connection broke meanwhile. */
export function isAnswered({ writableFinished, req: { socket } }: ServerResponse): boolean {
  return writableFinished && socket.errored === null;
}
