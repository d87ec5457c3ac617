import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IssuedTokenVerifier } from '../../src/auth/issued-tokens/issued-token.verifier.js';
import type { TokenRow } from '../../src/auth/issued-tokens/known-token.js';
import { newTokenId, TokenFormat } from '../../src/auth/issued-tokens/token-format.js';
import { TokenRegister } from '../../src/auth/issued-tokens/token-register.js';
import { CredentialsError } from '../../src/auth/credentials.error.js';
import type { Statements } from '../../src/database/statements.js';
import { ERRORS } from '../../src/errors/common-errors.js';
import { ServiceException } from '../../src/errors/service.exception.js';
import { IDENTITY } from '../support/identity.js';
import { idOf } from '../support/tokens.js';

const FORMAT = new TokenFormat(IDENTITY);
const TIMES = { refresh: 60_000, pause: 100, maxAge: 3_000 };

/** A row, in which anything about its validity can be missing. */
type StoredRow = Omit<TokenRow, 'isUnrevoked' | 'expires' | 'previousExpires'> & {
  readonly isUnrevoked: boolean | null;
  readonly expires: string | null;
  readonly previousExpires: string | null;
};

/** The table, without a database. */
class Table {
  rows: StoredRow[] = [];
  failure: Error | undefined;
  readings = 0;

  async run({ values }: { readonly values: readonly unknown[] }) {
    this.readings += 1;
    await sleep(1);
    if (this.failure !== undefined) throw this.failure;
    const fingerprint = JSON.stringify(this.rows);
    if (fingerprint === values[0]) return { rows: [{ fingerprint, id: null }] };
    const rows: readonly object[] = this.rows.length === 0 ? [{ id: null }] : this.rows;
    return { rows: rows.map((row) => Object.assign({}, row, { fingerprint })) };
  }
}

/** As the database writes a time. */
const seconds = (milliseconds: number) => (milliseconds / 1_000).toFixed(6);

function stored(token: string, changes: Partial<StoredRow> = {}): StoredRow {
  return {
    id: idOf(token),
    name: 'test',
    scopes: ['tools:read'],
    secretHash: hash('sha256', token, 'buffer'),
    previousHash: null,
    previousExpires: '-Infinity',
    expires: 'Infinity',
    isUnrevoked: true,
    ...changes,
  };
}

let table: Table;
let register: TokenRegister;
let verifier: IssuedTokenVerifier;
const uses: string[] = [];

beforeEach(async () => {
  table = new Table();
  register = new TokenRegister(table as unknown as Statements, pino({ level: 'silent' }), TIMES);
  verifier = new IssuedTokenVerifier(FORMAT, register, { note: (id) => void uses.push(id) });
  uses.length = 0;
  await register.onModuleInit();
});

afterEach(() => register.onModuleDestroy());

/** The reason of the refusal, or the number of the error. */
async function refusalOf(token: string): Promise<unknown> {
  try {
    await verifier.verify(token);
    return 'none';
  } catch (error) {
    if (error instanceof CredentialsError) return error.reason;
    if (error instanceof ServiceException) return error.kind.number;
    throw error;
  }
}

/** Makes the register read what is stored. */
async function store(...rows: readonly StoredRow[]): Promise<void> {
  table.rows = [...rows];
  await register.readAgain();
}

describe('a token that is known', () => {
  it('is verified at once, and its use is noted', async () => {
    const token = FORMAT.create(newTokenId());
    await store(stored(token));
    const id = idOf(token);
    const scopes = new Set(['tools:read']);
    expect(verifier.verify(token)).toEqual({ kind: 'issued-token', id, name: 'test', scopes });
    expect(uses).toEqual([id]);
  });

  it.each([
    ['it is revoked', { isUnrevoked: false }, 'revoked'],
    ['it has expired', { expires: seconds(Date.now()) }, 'expired'],
    ['its revocation cannot be read', { isUnrevoked: null }, 'revoked'],
    ['its expiry is missing', { expires: null }, 'expired'],
    ['its expiry is no number', { expires: '25.11.2026 20:00:00 CET' }, 'expired'],
    ['its expiry is empty', { expires: '' }, 'expired'],
  ])('is refused if %s, which is no use', async (_, changes, refusal) => {
    const token = FORMAT.create(newTokenId());
    await store(stored(token, changes));
    expect(await refusalOf(token)).toBe(refusal);
    expect(uses).toEqual([]);
  });

  it('is refused with an old secret whose expiry is missing', async () => {
    const id = newTokenId();
    const [old, current] = [FORMAT.create(id), FORMAT.create(id)];
    const previousHash = hash('sha256', old, 'buffer');
    await store(stored(current, { previousHash, previousExpires: null }));
    expect([await refusalOf(old), await refusalOf(current)]).toEqual(['expired', 'none']);
  });
});

describe('a token that is not known', () => {
  it('shares a reading with others, and is remembered', async () => {
    const tokens = Array.from({ length: 900 }, () => FORMAT.create(newTokenId()));
    const before = table.readings;
    const refusals = await Promise.all(tokens.map(refusalOf));
    expect(new Set(refusals)).toEqual(new Set(['unknown-token']));
    await Promise.all(tokens.map(refusalOf));
    expect(table.readings).toBe(before + 1);
  });

  it('waits with at most 1,000 others', async () => {
    const tokens = Array.from({ length: 1_010 }, () => FORMAT.create(newTokenId()));
    const refusals = await Promise.all(tokens.map(refusalOf));
    expect(refusals.filter((refusal) => refusal === ERRORS.overloaded.number)).toHaveLength(10);
  });
});

describe('the age of the register', () => {
  it('is the time since the last reading that succeeded began', async () => {
    const begin = performance.now();
    await register.readAgain();
    expect(register.age).toBeLessThanOrEqual(performance.now() - begin);
    table.failure = new Error('away');
    await expect(register.readAgain()).rejects.toMatchObject({ kind: ERRORS.databaseUnavailable });
    // A timer can fire a millisecond early.
    expect(register.age).toBeGreaterThan(TIMES.pause - 2);
  });

  it('is infinite before the first', () => {
    const unread = new TokenRegister(table as unknown as Statements, pino(), TIMES);
    expect(unread.age).toBe(Infinity);
  });
});

describe('while the database is away', () => {
  it('accepts known tokens until the register is too old, and tells typos and revoked ones for good', async () => {
    const [token, revoked] = [FORMAT.create(newTokenId()), FORMAT.create(newTokenId())];
    await store(stored(token), stored(revoked, { isUnrevoked: false }));
    table.failure = new Error('away');
    const [unknown, typo] = [FORMAT.create(newTokenId()), `${token}0`];
    expect(await refusalOf(token)).toBe('none');
    expect(await refusalOf(unknown)).toBe(50300);
    await sleep(TIMES.maxAge);
    expect(await refusalOf(token)).toBe(50300);
    expect(await refusalOf(revoked)).toBe('revoked');
    expect(await refusalOf(typo)).toBe('malformed');
    table.failure = undefined;
    table.rows = [];
    await sleep(2 * TIMES.pause);
    await register.readAgain();
    expect(await refusalOf(token)).toBe('unknown-token');
  });
});
