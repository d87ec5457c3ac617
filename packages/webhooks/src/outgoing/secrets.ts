import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

export const SECRET_PREFIX = 'whsec_';

const CIPHER = 'aes-256-gcm';
const SIZES = { key: 32, iv: 12, tag: 16 } as const;

/** Makes the secrets of webhooks, and encrypts them for the database. */
export class Secrets {
  /** Tells a wrong key from damaged text. */
  private readonly keyId: string;

  /** @param key of 256 bits */
  constructor(private readonly key: Buffer) {
    if (key.length !== SIZES.key) {
      throw new Error(`The key has ${key.length} bytes instead of ${SIZES.key}.`);
    }
    this.keyId = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8);
  }

  /** A new secret, as Standard Webhooks writes it. */
  generate(): string {
    return SECRET_PREFIX + randomBytes(SIZES.key).toString('base64');
  }

  /**
   * Encrypts a secret.
   *
   * @param context what the secret belongs to. `open` needs it again, so that the secret is worth nothing in another row.
   */
  seal(secret: string, context: string): string {
    const iv = randomBytes(SIZES.iv);
    const cipher = createCipheriv(CIPHER, this.key, iv).setAAD(Buffer.from(context));
    const text = [cipher.update(secret, 'utf8'), cipher.final()];
    const sealed = Buffer.concat([iv, cipher.getAuthTag(), ...text]).toString('base64');
    return `${this.keyId}.${sealed}`;
  }

  /** @throws Error if another key or another context has sealed the secret */
  open(sealed: string, context: string): string {
    const [keyId, text = ''] = sealed.split('.');
    if (keyId !== this.keyId) throw new Error('Another key has encrypted the secret of a webhook.');
    const bytes = Buffer.from(text, 'base64');
    const begin = SIZES.iv + SIZES.tag;
    try {
      const iv = bytes.subarray(0, SIZES.iv);
      // Without its length, Node.js takes the first bytes of a tag for a tag.
      const decipher = createDecipheriv(CIPHER, this.key, iv, { authTagLength: SIZES.tag })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(SIZES.iv, begin));
      return decipher.update(bytes.subarray(begin), undefined, 'utf8') + decipher.final('utf8');
    } catch (cause) {
      throw new Error('The encrypted secret is damaged, or belongs to another webhook.', { cause });
    }
  }
}
