import type { ServerResponse } from 'node:http';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';

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
  /** Those that it is sent with. */
  readonly responses: Set<ServerResponse>;
}

/** Limits the memory of all answers together, until their last bytes have left. */
export class AnswerMemory {
  /** The oldest first. */
  private readonly held = new Map<object, Held>();
  private bytes = 0;

  /**
   * Counts an answer until its response closes. If there is no room, clients that have not read their answers in time
   * lose their connections.
   *
   * @param part what several answers share, which counts once
   * @returns ends the count earlier
   * @throws ServiceException `too-many-answers`
   */
  hold(response: ServerResponse, bytes: number, part: object = response): () => void {
    if (bytes <= FREE) return NOTHING;
    const held = this.held.get(part) ?? this.add(part, bytes);
    held.responses.add(response);
    const release = (): void => {
      response.off('close', release);
      held.responses.delete(response);
      if (held.responses.size === 0 && this.held.get(part) === held) this.free(part);
    };
    response.once('close', release);
    return release;
  }

  private add(part: object, bytes: number): Held {
    const now = performance.now();
    for (const [slow, { since, responses }] of this.held) {
      if (this.hasRoom(bytes) || now - since < PATIENCE) break;
      for (const { req } of responses) {
        req.socket.destroy(new Error('the answer was not read in time'));
      }
      this.free(slow);
    }
    if (!this.hasRoom(bytes)) throw new ServiceException(ERRORS.tooManyAnswers);
    const held = { bytes, since: now, responses: new Set<ServerResponse>() };
    this.held.set(part, held);
    this.bytes += bytes;
    return held;
  }

  /** An answer has room if there is no other, however large it is. */
  private hasRoom(bytes: number): boolean {
    return this.bytes === 0 || this.bytes + bytes <= MAX_BYTES;
  }

  private free(part: object): void {
    this.bytes -= this.held.get(part)?.bytes ?? 0;
    this.held.delete(part);
  }
}
