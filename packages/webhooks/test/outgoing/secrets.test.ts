import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../src/outgoing/secrets.js';
import { signedHeaders } from '../../src/outgoing/signatures.js';

const secrets = new Secrets(randomBytes(32));

describe('a secret', () => {
  it('is one of Standard Webhooks', () => {
    const secret = secrets.generate();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secrets.generate()).not.toBe(secret);
  });

  it('is what it was when it is opened, and never sealed alike', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (secret, context) => {
          const sealed = secrets.seal(secret, context);
          expect(secrets.open(sealed, context)).toBe(secret);
          expect(secrets.seal(secret, context)).not.toBe(sealed);
        },
      ),
    );
  });

  it('is not opened where it does not belong', () => {
    const sealed = secrets.seal(secrets.generate(), 'webhook 1');
    const error = 'The encrypted secret is damaged, or belongs to another webhook.';
    expect(() => secrets.open(sealed, 'webhook 2')).toThrow(error);
  });

  it('is not opened after any byte of it has changed', () => {
    const sealed = secrets.seal(secrets.generate(), '1');
    const [keyId, text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64');
    const change = fc.record({
      at: fc.nat({ max: bytes.length - 1 }),
      by: fc.integer({ min: 1, max: 255 }),
    });
    fc.assert(
      fc.property(change, ({ at, by }) => {
        const changed = Buffer.from(bytes);
        changed[at]! ^= by;
        const damaged = `${keyId}.${changed.toString('base64')}`;
        expect(() => secrets.open(damaged, '1')).toThrow('is damaged');
      }),
    );
    expect(() => secrets.open(`${keyId}.`, '1')).toThrow('is damaged');
    expect(() => secrets.open(`${keyId}.AAAA`, '1')).toThrow('is damaged');
  });

  it('is not opened with a part of its tag', () => {
    const [keyId, text = ''] = secrets.seal('', '1').split('.');
    const cut = Buffer.from(text, 'base64').subarray(0, 16).toString('base64');
    expect(() => secrets.open(`${keyId}.${cut}`, '1')).toThrow('is damaged');
  });

  it('of another key is told from a damaged one', () => {
    const sealed = new Secrets(randomBytes(32)).seal(secrets.generate(), '1');
    const error = 'Another key has encrypted the secret of a webhook.';
    expect(() => secrets.open(sealed, '1')).toThrow(error);
  });

  it('needs a key of 32 bytes', () => {
    const error = 'The key has 16 bytes instead of 32.';
    expect(() => new Secrets(randomBytes(16))).toThrow(error);
  });
});

it('the signatures are the ones of the library of Standard Webhooks', () => {
  const secret = fc
    .uint8Array({ minLength: 24, maxLength: 64 })
    .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.json({ stringUnit: 'binary' }),
      (all, body) => {
        const message = { id: 'msg_1', timestamp: new Date(), body };
        const headers = signedHeaders(message, all);
        for (const each of all) expect(new Webhook(each).verify(body, headers)).toBeDefined();
        expect(headers['webhook-signature']).toBe(
          all.map((each) => new Webhook(each).sign(message.id, message.timestamp, body)).join(' '),
        );
      },
    ),
  );
});
