import { describe, expect, it } from 'vitest';
import { contradictions, misreading, tally } from '../support/reckoning.js';
import type { Attempt, Outcome, WantedPlant } from '../support/reckoning.js';

/* Fault tests rely on the reckoning, so it is tested itself. */

const PLANT: WantedPlant = { id: 2n ** 60n + 1n, name: 'Fern', tag: 'indoor' };
const OTHER: WantedPlant = { ...PLANT, tag: null };

function attempt(outcome: Outcome, { plant = PLANT, valid = true } = {}): Attempt {
  return { plant, valid, sentAt: 0, took: 1, outcome };
}

function answered(status: number, body: unknown, retryAfter?: string): Outcome {
  return { kind: 'answered', status, body, retryAfter };
}

function refused(error: number, retryAfter?: string): Outcome {
  return answered(Math.floor(error / 100), { error, message: 'no' }, retryAfter);
}

const CREATED = attempt(answered(200, { name: 'Fern', tag: 'indoor' }));
const CREATED_OTHER = attempt(answered(200, { name: 'Fern' }), { plant: OTHER });

describe('a reckoning', () => {
  it('passes when everything is stored as answered', () => {
    const attempts = [
      CREATED,
      CREATED,
      attempt(refused(40009), { plant: OTHER }),
      attempt(refused(40003), { plant: { ...PLANT, id: 5n }, valid: false }),
      attempt(refused(50300, '1'), { plant: { ...PLANT, id: 6n } }),
      attempt({ kind: 'lost', reason: 'ECONNRESET' }, { plant: { ...PLANT, id: 7n } }),
    ];
    expect(contradictions(attempts, [PLANT])).toEqual([]);
    expect(contradictions(attempts, [PLANT, { ...PLANT, id: 6n }, { ...PLANT, id: 7n }])).toEqual(
      [],
    );
    expect(tally(attempts)).toEqual({ '200': 2, '40009': 1, '40003': 1, '50300': 1, lost: 1 });
  });

  it.each([
    ['an acknowledged plant that is lost', [CREATED], [], /is lost/],
    ['one that is stored in another way', [CREATED, CREATED_OTHER], [OTHER], /is stored as/],
    ['two winners of one id', [CREATED, CREATED_OTHER], [PLANT], /is stored as/],
    [
      'an answer with another content',
      [attempt(answered(200, { name: 'Fern' }))],
      [PLANT],
      /another content/,
    ],
    [
      'an answer with more than was sent',
      [attempt(answered(200, { name: 'Fern', tag: null }), { plant: OTHER })],
      [OTHER],
      /another content/,
    ],
    ['a conflict with nobody', [attempt(refused(40009))], [], /to nobody/],
    ['a conflict that was stored', [attempt(refused(40009))], [PLANT], /stored all the same/],
    [
      'no plant that was stored',
      [attempt(refused(40003), { valid: false })],
      [{ ...PLANT, name: '7' }],
      /is stored as/,
    ],
    [
      'no plant that was acknowledged',
      [attempt(answered(200, { name: 'Fern', tag: 'indoor' }), { valid: false })],
      [],
      /is no plant/,
    ],
    ['a plant that was refused as none', [attempt(refused(40003))], [], /is a plant/],
    [
      'half a plant',
      [attempt({ kind: 'lost', reason: 'ECONNRESET' })],
      [{ ...PLANT, tag: 'ind' }],
      /nobody sent it/,
    ],
    ['a request without an end', [attempt({ kind: 'hung' })], [], /neither answered nor cut off/],
    ['an internal error', [attempt(refused(50000))], [], /does not promise/],
    ["a proxy's page", [attempt(answered(503, '<html>'))], [], /does not promise/],
    ['a 503 without Retry-After', [attempt(refused(50300))], [], /when to come back/],
  ])('finds %s', (_, attempts, stored, sentence) => {
    const found = contradictions(attempts, stored);
    expect(found).not.toEqual([]);
    expect(found.join('\n')).toMatch(sentence);
  });
});

describe('the look-up of an acknowledged plant', () => {
  const found = { id: Number(PLANT.id), name: 'Fern', tag: 'indoor' };

  it.each([
    ['the plant', answered(200, found)],
    ['a refusal during an outage', refused(50300, '1')],
  ])('may return %s', (_, outcome) => {
    expect(misreading(PLANT, outcome)).toBeUndefined();
  });

  it.each<[string, Outcome]>([
    ['that there is none', refused(40401)],
    ['another content', answered(200, { ...found, tag: 'outdoor' })],
    ['a failure of the service', refused(50000)],
    ['nothing', { kind: 'lost', reason: 'ECONNRESET' }],
  ])('may not return %s', (_, outcome) => {
    expect(misreading(PLANT, outcome)).toMatch(/is acknowledged/);
  });
});
