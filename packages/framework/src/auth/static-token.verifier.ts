import { hash, timingSafeEqual } from 'node:crypto';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import type { Logger } from 'pino';
import { POLL_INTERVAL } from '../config/secret-file.js';
import type { Secret } from '../config/secret-file.js';
import type { Principal } from './principal.js';
import type { BearerVerifier } from './token-verifier.js';

/** Two principals, so that the log tells whether the previous token is still in use. */
const CURRENT: Principal = { kind: 'static-token', id: 'AUTH_TOKEN', scopes: 'all' };
const PREVIOUS: Principal = { kind: 'static-token', id: 'AUTH_TOKEN_PREVIOUS', scopes: 'all' };

const GRACE_ENDED =
  'AUTH_TOKEN_PREVIOUS has another token, so the one before is rejected: a rotation began before the end of another';

/**
 * Verifies the tokens of `AUTH_TOKEN` and `AUTH_TOKEN_PREVIOUS`, which have every scope. Both are accepted, so that clients can
 * change from one to the other.
 */
export class StaticTokenVerifier implements BearerVerifier, OnModuleInit, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  /** Without a previous token, both are of the current one. */
  private digests: readonly [Buffer, Buffer];

  constructor(
    private readonly current: Secret<string>,
    private readonly previous: Secret<string | undefined>,
    private readonly log: Logger,
  ) {
    this.digests = this.digestBoth();
  }

  onModuleInit(): void {
    // The start can wait for hours, for a migration.
    this.refresh();
    this.timer = setInterval(() => this.refresh(), POLL_INTERVAL).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  /** Compares digests in constant time, and always both, so that the time reveals neither content nor length. */
  verify(token: string): Principal | undefined {
    const given = digest(token);
    const [current, previous] = this.digests;
    const isCurrent = timingSafeEqual(given, current);
    const isPrevious = timingSafeEqual(given, previous);
    if (isCurrent) return CURRENT;
    return isPrevious ? PREVIOUS : undefined;
  }

  private refresh(): void {
    const { value: before } = this.previous;
    // In this order: a rotation writes the previous token first, so it is there when the new token is read.
    this.current.refresh();
    this.previous.refresh();
    this.digests = this.digestBoth();
    const { value: previous } = this.previous;
    const isReplaced = before !== undefined && previous !== undefined && before !== previous;
    // Not when a rotation is undone.
    if (isReplaced && before !== this.current.value) this.log.warn(GRACE_ENDED);
  }

  private digestBoth(): readonly [Buffer, Buffer] {
    const { value: current } = this.current;
    return [digest(current), digest(this.previous.value ?? current)];
  }
}

/** As text: a buffer from `hash` has memory of its own, which takes twice as long as the hash. */
function digest(token: string): Buffer {
  return Buffer.from(hash('sha256', token, 'base64url'));
}
