import { variable } from '@resource-service/framework';

/** HS256 needs a key of at least 256 bits (RFC 7518, section 3.2). */
const SECRET = {
  parse: (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return bytes.length >= 32 ? bytes : undefined;
  },
  constraint: 'at least 32 bytes',
};

/** Besides the variables of the framework. */
export const VARIABLES = {
  GUESTS_SECRET: variable.of(SECRET, {
    description: 'Secret that the website signs tokens of guests with. Default: guests have none.',
    isOptional: true,
  }),
};
