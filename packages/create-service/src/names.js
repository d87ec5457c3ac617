import { builtinModules } from 'node:module';

/** An error for the user, in one line for each mistake. */
export class UsageError extends Error {}

/** Ends a command with the message of its own errors and errors of the file system. */
export async function reportingErrors(command) {
  try {
    await command();
  } catch (error) {
    if (!(error instanceof UsageError) && error.syscall === undefined) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/** PostgreSQL cuts names after 63 characters. The longest is the index `…_changes_id_position_idx`. */
const MAX_LENGTH = 39;

export const KEYWORDS =
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends
  false finally for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield`.split(/\s+/);

/** Names, singular and plural, in the code, paths, tables and changes of a resource, or in the framework. */
const TAKEN =
  `access-token actor after api-schema app array body-types boolean change-of column date docs dto-of entity error
  export-of feed filled framework generated-id generated-id-repository health id idempotency-key index injectable int64-field kind limit
  lines list-of metrics migration module new-of no-other-parameters number object openapi patch patch-of
  position precondition primary-generated-column principal query replacement-of request-id resource resource-module
  service-exception signal string text-field time`
    .split(/\s+/)
    .flatMap((name) => [name, `${name}s`]);

/** Names of methods of the controller, or of files of each service. */
const TAKEN_PLURALS = ['cli', 'create', 'get', 'list', 'remove', 'replace', 'service'];

/** Programs in the image of a service, whose command comes first on the search path, and names that PostgreSQL reserves. */
const NOT_FOR_SERVICES = [...builtinModules, 'node', 'node-modules', 'npm', 'npx', 'plpgsql'];

export function requireServiceName(name) {
  requireNone([...mistakesInName(name, 'a service', 'tool-library', NOT_FOR_SERVICES)]);
}

/** @param further mistakes, which the error has, too */
export function requireResourceNames(one, many, further = []) {
  const reserved = [...KEYWORDS, ...TAKEN];
  const mistakes = [
    ...mistakesInName(one, 'a resource', 'tool tools', reserved),
    ...mistakesInName(many, 'a resource', 'tool tools', [...reserved, ...TAKEN_PLURALS]),
  ];
  // The plural has the mistake of the singular.
  requireNone([...mistakes.slice(0, 1), ...further]);
}

/** Reports all mistakes, each in a line. */
function requireNone(mistakes) {
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
}

function* mistakesInName(name, what, example, reserved) {
  const shown = /^\S+$/.test(name) ? name : JSON.stringify(name);
  if (!KEBAB_CASE.test(name) || name.length > MAX_LENGTH) {
    yield `${shown} cannot be the name of ${what}: at most ${MAX_LENGTH} lower-case letters, digits and hyphens, such as ${example}`;
  }
  // Properties of every object, such as `constructor`, and the prefix of PostgreSQL's own tables.
  if (reserved.includes(name) || camelCase(name) in {} || name.startsWith('pg-')) {
    yield `${name} cannot be the name of ${what}: it is reserved`;
  }
}

function camelCase(name) {
  const [first, ...others] = name.split('-');
  return first + others.map(capital).join('');
}

/** Replaces the name of the template's service, in any case. */
export function withServiceName(text, name) {
  return text.replaceAll(
    /(sample)([-_ ]?)(service)/gi,
    inCaseOf(() => name),
  );
}

/**
 * Replaces the names of the template's resource.
 *
 * @param noun singular of the template, as a pattern: first word, separator, second word
 */
export function withResourceNames(text, one, many, noun = '(sample)([-_ ]?)(item)') {
  const article = /^[aeiou]/.test(one) ? 'an' : 'a';
  return text
    .replaceAll(new RegExp(String.raw`\ba(?= ${noun}\b)`, 'gi'), (a) => a + article.slice(1))
    .replaceAll(
      new RegExp(`${noun}(s?)`, 'gi'),
      inCaseOf((plural) => (plural === '' ? one : many)),
    );
}

/** Replaces two words by the words of a name, in their case. */
function inCaseOf(nameFor) {
  return (match, first, separator, second, plural) => {
    const words = nameFor(plural).split('-');
    if (match === match.toUpperCase()) return words.join(separator).toUpperCase();
    const isCapital = (word) => word.charAt(0) !== word.charAt(0).toLowerCase();
    const isLike = (word, index) =>
      isCapital(index === 0 ? first : second) ? capital(word) : word;
    return words.map(isLike).join(separator);
  };
}

/** The initials of the name, and more letters of its last word. */
export function tokenPrefix(name) {
  const words = name.split('-');
  const last = words.pop();
  return `${words.map((word) => word.charAt(0)).join('')}${last}`.slice(0, 3);
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
