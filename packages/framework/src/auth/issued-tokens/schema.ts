import type { DatabaseSchema } from '../../database/data-source.js';
import { AccessToken } from './access-token.entity.js';
import { CreateAccessTokens1795478400000 } from './migrations/1795478400000-create-access-tokens.js';

export const ISSUED_TOKENS_SCHEMA: DatabaseSchema = {
  entities: [AccessToken],
  migrations: [CreateAccessTokens1795478400000],
};
