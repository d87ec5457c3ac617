/* The public interface for the administration of issued tokens, in the database of a service. */

export { requireAcceptance, withDatabase } from './auth/issued-tokens/token-database.js';
export { isTokenId, TokenFormat } from './auth/issued-tokens/token-format.js';
export {
  createToken,
  listTokens,
  MAX_TOKENS,
  revokeToken,
  rotateToken,
} from './auth/issued-tokens/token-issuance.js';
export type { Lifetime, TokenDetails } from './auth/issued-tokens/token-issuance.js';
export { findDatabase } from './local.js';
