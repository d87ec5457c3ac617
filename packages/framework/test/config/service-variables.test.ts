import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { variable } from '../../src/index.js';
import type { Variables } from '../../src/index.js';
import { localConfig, localTexts } from '../../src/local.js';
import { IDENTITY } from '../support/identity.js';
import { TOKEN } from '../support/tokens.js';

const VARIABLES = {
  SMTP_URL: variable.url({ description: 'Sends mails.', example: 'smtp://localhost:1025' }),
  REMINDER_DAYS: variable.integer({ description: 'Until then.', min: 1, max: 90, default: 14 }),
  REMINDERS: variable.boolean({ description: 'Whether.', default: false }),
  SENDER: variable.text({ description: 'Who.', isOptional: true }),
  LANGUAGE: variable.oneOf(['de', 'en'], { description: 'Of mails.', default: 'en' }),
  FOLDERS: variable.of(
    { parse: (raw) => (raw === '!' ? undefined : Buffer.from(raw)), constraint: 'bytes' },
    { description: 'Bytes.', isOptional: true },
  ),
};

function read(environment: Record<string, string>) {
  return readConfig(IDENTITY, environment, VARIABLES).variables;
}

function mistakesIn(environment: Record<string, string>, variables: object = VARIABLES): string[] {
  try {
    readConfig(IDENTITY, environment, variables as typeof VARIABLES);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

describe("the variables of a service's own", () => {
  it('have their types', () => {
    expectTypeOf<Variables<typeof VARIABLES>>().toEqualTypeOf<{
      readonly SMTP_URL: URL;
      readonly REMINDER_DAYS: number;
      readonly REMINDERS: boolean;
      readonly SENDER: string | undefined;
      readonly LANGUAGE: 'de' | 'en';
      readonly FOLDERS: Buffer<ArrayBuffer> | undefined;
    }>();
  });

  it('are read like the others', () => {
    expect(read({ SMTP_URL: ' smtp://user:secret@mail.example ' })).toEqual({
      SMTP_URL: new URL('smtp://user:secret@mail.example'),
      REMINDER_DAYS: 14,
      REMINDERS: false,
      SENDER: undefined,
      LANGUAGE: 'en',
      FOLDERS: undefined,
    });
    const all = { REMINDER_DAYS: '7', REMINDERS: 'true', SENDER: 'Ada', LANGUAGE: 'de' };
    expect(read({ SMTP_URL: 'smtp://a', ...all, FOLDERS: 'ab' })).toMatchObject({
      REMINDER_DAYS: 7,
      REMINDERS: true,
      SENDER: 'Ada',
      LANGUAGE: 'de',
      FOLDERS: Buffer.from('ab'),
    });
  });

  it('may be in files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'variables-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'smtp');
    expect(mistakesIn({ SMTP_URL_FILE: file })).toEqual([
      'SMTP_URL_FILE must name a file that can be read and has at most 64 KB',
    ]);
    writeFileSync(file, 'smtp://mail.example\n');
    expect(read({ SMTP_URL_FILE: file })).toMatchObject({
      SMTP_URL: new URL('smtp://mail.example'),
    });
  });

  it('are in one list of mistakes with the variables of the framework, without values', () => {
    const environment = { PORT: 'x', REMINDER_DAYS: '91', LANGUAGE: 'fr', FOLDERS: '!' };
    expect(mistakesIn(environment)).toEqual([
      'PORT must be a port number, 0 to 65535',
      'SMTP_URL must be set',
      'REMINDER_DAYS must be an integer, 1 to 90',
      'LANGUAGE must be one of de, en',
      'FOLDERS must be bytes',
    ]);
  });

  it.each([
    ['smtpUrl', 'the variable smtpUrl of the service must have a name such as SMTP_URL'],
    ['PORT', 'the variable PORT of the service must have another name, which is not in use'],
  ])('cannot have the name %s', (name, mistake) => {
    expect(mistakesIn({}, { [name]: VARIABLES.SENDER })).toEqual([mistake]);
  });

  it.each(['AUTH_TOKEN_FILE', 'NODE_ENV', 'OTEL_SDK_DISABLED', 'PGHOST', 'SENDER_FILE'])(
    'cannot have the name %s, which something else reads',
    (name) => {
      const { SENDER } = VARIABLES;
      expect(mistakesIn({}, { SENDER, [name]: SENDER })).toHaveLength(1);
    },
  );

  describe('on the local instance', () => {
    const made = vi.fn<() => string>(() => 'made');
    const variables = {
      KEY: variable.text({ description: 'A secret.', isOptional: true, local: made }),
      SIZE: variable.integer({ description: 'A.', min: 1, max: 9, isOptional: true, local: 7 }),
      OTHER: variable.text({ description: 'B.', isOptional: true }),
      FIXED: variable.text({ description: 'C.', default: 'c' }),
    };
    const local = {
      url: 'postgres://localhost/local',
      token: () => Promise.resolve(TOKEN),
      secret: (name: string, make: () => string) => Promise.resolve(`${name} ${make()}`),
    };
    const localVariables = async (environment: Record<string, string>) =>
      (await localConfig(readConfig(IDENTITY, environment, variables), local, variables)).variables;

    it('have their local values', async () => {
      const values = { KEY: 'KEY made', SIZE: 7, OTHER: undefined, FIXED: 'c' };
      expect(await localVariables({})).toEqual(values);
    });

    it('have the values of the environment if it has some', async () => {
      made.mockClear();
      expect(await localVariables({ KEY: 'a', SIZE: '8' })).toMatchObject({ KEY: 'a', SIZE: 8 });
      expect(made).not.toHaveBeenCalled();
    });

    it('have texts for a service in another process, unless the environment has some', async () => {
      const config = readConfig(IDENTITY, { SIZE: '8' }, variables);
      expect(await localTexts(config, local, variables)).toEqual({ KEY: 'KEY made' });
    });

    it('have no others anywhere else', () => {
      expect(readConfig(IDENTITY, {}, variables).variables).toMatchObject({ KEY: undefined });
    });

    it('are checked, too', async () => {
      const wrong = { SIZE: { ...variables.SIZE, local: '0' } };
      const config = readConfig(IDENTITY, {}, wrong);
      await expect(localConfig(config, local, wrong)).rejects.toThrow(
        'SIZE must be an integer, 1 to 9',
      );
    });
  });

  it('have defaults and examples that are valid', () => {
    const days = { description: 'Days.', min: 1, max: 9 };
    const variables = {
      A: variable.integer({ ...days, default: 10 }),
      B: variable.integer({ ...days, example: 0 }),
    };
    expect(mistakesIn({ A: '1', B: '1' }, variables)).toEqual([
      'the default of the variable A of the service must be an integer, 1 to 9',
      'the example of the variable B of the service must be an integer, 1 to 9',
    ]);
  });
});
