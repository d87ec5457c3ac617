import type { Readable, Writable } from 'node:stream';

export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Waits until the text is written. @throws what the signal or the stream says */
export function write(stream: Writable, text: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
    stream.write(text, (error) => {
      signal.removeEventListener('abort', abort);
      if (error) reject(error);
      else resolve();
    });
  });
}
