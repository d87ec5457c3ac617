/** The longest delay of `setTimeout`. */
export const LONGEST_WAIT = 2 ** 31 - 1;

/** Waits for work until the time is over or the signal aborts, which the work may ignore. Throws the reason, or a `TimeoutError`. */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal | null,
  work: (signal: AbortSignal) => Promise<T>,
  from = 'the service',
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(() => {
    const message = `waited ${milliseconds} ms for ${from}`;
    controller.abort(new DOMException(message, 'TimeoutError'));
  }, milliseconds);
  const stopped = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
  });
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

export function pause(milliseconds: number, signal: AbortSignal | null): Promise<void> {
  const wait = (stopped: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      stopped.addEventListener('abort', () => clearTimeout(timer));
    });
  return within(LONGEST_WAIT, signal, wait);
}
