import type { TokenDetails } from '@resource-service/framework/tokens';
import { tableOf } from '../table.js';

const HEADER = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'STATUS'];

export function tokenTable(tokens: readonly TokenDetails[]): string {
  return tableOf([HEADER, ...tokens.map(cells)]);
}

function cells(token: TokenDetails): readonly string[] {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt } = token;
  return [
    id,
    name,
    scopes.join(' '),
    minutes(createdAt),
    expiresAt === null ? 'never' : minutes(expiresAt),
    lastUsedAt === null ? 'never' : minutes(lastUsedAt),
    statusOf(token),
  ];
}

function statusOf({ status, previousExpiresAt }: TokenDetails): string {
  return status === 'active' &&
    previousExpiresAt !== null &&
    previousExpiresAt.getTime() > Date.now()
    ? `active, old secret until ${minutes(previousExpiresAt)}`
    : status;
}

function minutes(time: Date): string {
  return time.toISOString().slice(0, 16).replace('T', ' ');
}
