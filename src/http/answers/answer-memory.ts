import type { ServerResponse } from 'node:http';
import { ERRORS } from '../../errors/common-errors.js';
import { PlantStoreError } from '../../errors/plant-store.error.js';

/** Most bytes of large answers that wait for their clients. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Answers up to this size do not count: the kernel takes them at once. In bytes. */
const FREE = 64 * 1024;

/** How long a client has to read a large answer while there is no room for others, in milliseconds. */
const PATIENCE = 10_000;

const NOTHING = (): void => {};

interface Held {
  readonly bytes: number;
  readonly since: number;
}

/** Limits the memory of all answers together, until their last bytes have left. */
export class AnswerMemory {
  /** The oldest first. */
  private readonly held = new Map<ServerResponse, Held>();
  private bytes = 0;

  /**
   * Counts an answer until its response closes. If there is no room, clients that have not read their answers in time
   * lose their connections.
   *
   * @returns ends the count earlier
   * @throws PlantStoreError `too-many-answers`
   */
  hold(response: ServerResponse, bytes: number): () => void {
    if (bytes <= FREE) return NOTHING;
    const now = performance.now();
    for (const [slow, { since }] of this.held) {
      if (this.hasRoom(bytes) || now - since < PATIENCE) break;
      slow.req.socket.destroy(new Error('the answer was not read in time'));
      this.free(slow);
    }
    if (!this.hasRoom(bytes)) throw new PlantStoreError(ERRORS.tooManyAnswers);
    this.held.set(response, { bytes, since: now });
    this.bytes += bytes;
    const release = (): void => {
      response.off('close', release);
      this.free(response);
    };
    response.once('close', release);
    return release;
  }

  /** An answer has room if there is no other, however large it is. */
  private hasRoom(bytes: number): boolean {
    return this.bytes === 0 || this.bytes + bytes <= MAX_BYTES;
  }

  private free(response: ServerResponse): void {
    this.bytes -= this.held.get(response)?.bytes ?? 0;
    this.held.delete(response);
  }
}
