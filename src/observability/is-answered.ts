import type { ServerResponse } from 'node:http';

/** Whether a response that is closed has left. Node calls one finished whose connection broke meanwhile, too. */
export function isAnswered({ writableFinished, req: { socket } }: ServerResponse): boolean {
  return writableFinished && socket.errored === null;
}
