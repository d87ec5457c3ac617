import { hash } from 'node:crypto';
import { pino } from 'pino';
import { IssuedTokenVerifier } from '../packages/framework/src/auth/issued-tokens/issued-token.verifier.js';
import { LastUses } from '../packages/framework/src/auth/issued-tokens/last-uses.js';
import {
  newTokenId,
  TokenFormat,
} from '../packages/framework/src/auth/issued-tokens/token-format.js';
import { TokenRegister } from '../packages/framework/src/auth/issued-tokens/token-register.js';
import { StaticTokenVerifier } from '../packages/framework/src/auth/static-token.verifier.js';
import { constant } from '../packages/framework/src/config/secret-file.js';
import type { Statements } from '../packages/framework/src/database/statements.js';
import { IDENTITY } from '../src/identity.js';
import { median, table } from './report.js';

/* npm run bench:verification: how long the verification of a token takes, without the request around it. */

/** As many as there may be. */
const TOKENS = 10_000;

const ROUNDS = 15;

const FORMAT = new TokenFormat(IDENTITY);

const tokens = Array.from({ length: TOKENS }, () => FORMAT.create(newTokenId()));

const CONTENDERS = [
  { title: 'static token', verifier: staticVerifier(), sent: tokens.map(() => tokens[0]!) },
  { title: `issued token, ${TOKENS} issued`, verifier: await issuedVerifier(), sent: tokens },
];

const rounds = Array.from({ length: ROUNDS }, () =>
  CONTENDERS.map(({ verifier, sent }) => microseconds(verifier, sent)),
);
const rows = CONTENDERS.map(({ title }, i) => {
  // The first rounds run code that V8 has not optimized yet.
  const times = rounds.slice(ROUNDS / 3).map((round) => round[i] ?? NaN);
  return [title, median(times).toFixed(2), Math.max(...times).toFixed(2)];
});
process.stdout.write(`Node.js ${process.version}\n\n`);
process.stdout.write(`${table(['µs for a verification', 'median', 'most'], rows)}\n`);

/** For a verification, by the mean of one for each token. */
function microseconds(
  verifier: StaticTokenVerifier | IssuedTokenVerifier,
  sent: readonly string[],
): number {
  const begin = performance.now();
  for (const token of sent) {
    const principal = verifier.verify(token);
    if (principal === undefined || principal instanceof Promise) throw new Error('not known');
  }
  return ((performance.now() - begin) * 1_000) / sent.length;
}

function staticVerifier(): StaticTokenVerifier {
  const logger = pino({ level: 'silent' });
  return new StaticTokenVerifier(constant(tokens[0]!), constant(undefined), logger);
}

/** With a register that has read all tokens. */
async function issuedVerifier(): Promise<IssuedTokenVerifier> {
  const stored = tokens.map((token) => ({
    fingerprint: '1',
    id: FORMAT.idIn(token),
    name: 'caller',
    scopes: ['plants:read', 'plants:write'],
    secretHash: hash('sha256', token, 'buffer'),
    previousHash: null,
    previousExpires: '-Infinity',
    expires: String(Date.now() / 1_000 + 86_400),
    isUnrevoked: true,
  }));
  const statements = { run: async () => ({ rows: stored }) } as unknown as Statements;
  const logger = pino({ level: 'silent' });
  const register = new TokenRegister(statements, logger);
  await register.onModuleInit();
  register.onModuleDestroy();
  return new IssuedTokenVerifier(FORMAT, register, new LastUses(statements, logger));
}
