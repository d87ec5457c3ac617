import type { Variable } from './read-variable.js';
import { BOOLEAN, integer, oneOf } from './variable-types.js';
import type { VariableType } from './variable-types.js';
import { VARIABLES } from './variables.js';

/** An environment variable of a service's own, made by `variable`. */
export interface ServiceVariable<Value = unknown> extends Variable {
  readonly description: string;
  /** Stands for the value where the service does not run, and in `.env.example`. */
  readonly example: string | undefined;
  /** The text on the local instance, or what makes it, unless the variable is set. */
  readonly local?: string | (() => string);
  /** For the type only. */
  readonly valueType?: Value;
}

export type ServiceVariables = Readonly<Record<string, ServiceVariable>>;

type Options<Text> = {
  /** A sentence for `.env.example`. */
  readonly description: string;
} & (
  | {
      /** The value unless the variable is set. */
      readonly default: Text;
    }
  | {
      /** The value is `undefined` unless the variable is set. */
      readonly isOptional: true;
      /**
       * Instead, with the database of `npm start`. What a function makes is a secret: it is called once, and its result is kept beside that
       * database.
       */
      readonly local?: Text | (() => string);
    }
  | {
      /**
       * The service does not start unless the variable is set. What runs without its environment uses the example: the commands
       * for documents and migrations, and a test that does not set the variable.
       */
      readonly example: Text;
    }
);

type Made<Value, Given> = ServiceVariable<
  Given extends { readonly isOptional: true } ? Value | undefined : Value
>;

/**
 * Makes the environment variables of a service's own. They are validated at the start together with the variables of the
 * framework, in one list of mistakes. Each may be in a file that the variable with the suffix `_FILE` names.
 *
 * @example
 * export const VARIABLES = {
 *   SMTP_URL: variable.url({ description: 'Server that sends mails.', example: 'smtp://localhost:1025' }),
 *   REMINDER_DAYS: variable.integer({ description: 'Days until a reminder.', min: 1, max: 90, default: 14 }),
 *   SENDER: variable.text({ description: 'Sender of mails.', isOptional: true }),
 * };
 *
 * FrameworkModule.forRoot(IDENTITY, { variables: VARIABLES })
 */
export const variable = {
  text<const Given extends Options<string>>(options: Given): Made<string, Given> {
    return made({ parse: (raw) => raw || undefined, constraint: 'a text' }, options);
  },

  /** A URL such as `smtp://user:password@localhost:1025`. */
  url<const Given extends Options<string>>(options: Given): Made<URL, Given> {
    return made(URL_TYPE, options);
  },

  /** A number from `min` to `max`, which are at least 0 and at most 9,999,999,999. */
  integer<const Given extends Options<number> & { readonly min: number; readonly max: number }>(
    options: Given,
  ): Made<number, Given> {
    return made(integer(options.min, options.max), options);
  },

  /** `true` or `false`. */
  boolean<const Given extends Options<boolean>>(options: Given): Made<boolean, Given> {
    return made(BOOLEAN, options);
  },

  oneOf<const Value extends string, const Given extends Options<NoInfer<Value>>>(
    values: readonly Value[],
    options: Given,
  ): Made<Value, Given> {
    return made(oneOf(values), options);
  },

  /**
   * A value of any other type.
   *
   * @example
   * variable.of(
   *   { parse: (text) => (text.startsWith('/') ? text.split('/') : undefined), constraint: 'a path such as /a/b' },
   *   { description: 'Where pictures are.', default: '/pictures' },
   * )
   */
  of<Value, const Given extends Options<string>>(
    type: VariableType<Value>,
    options: Given,
  ): Made<Value, Given> {
    return made(type, options);
  },
} as const;

const URL_TYPE: VariableType<URL> = {
  // Without the slashes, `localhost:1025` would be a URL. `URL` leaves out tabs and line ends.
  parse: (raw) => (/^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(raw) ? new URL(raw) : undefined),
  constraint: 'a URL such as https://example.com, special characters percent-encoded',
};

function made<Value, Given extends Options<string | number | boolean>>(
  { parse, constraint }: VariableType<Value>,
  options: Given,
): Made<Value, Given> {
  const text = (name: 'default' | 'example') =>
    name in options ? String((options as Partial<Record<typeof name, unknown>>)[name]) : undefined;
  const fallback = text('default');
  const local = 'isOptional' in options ? options.local : undefined;
  return {
    parse,
    constraint,
    file: 'required',
    description: options.description,
    example: text('example'),
    isRequired: fallback === undefined && !('isOptional' in options),
    ...(fallback !== undefined && { fallback }),
    ...(local !== undefined && { local: typeof local === 'function' ? local : String(local) }),
  };
}

/** Examples of the required variables that an environment does not set, for programs that need no values of a deployment. */
export function withExamples(
  variables: ServiceVariables,
  environment: Readonly<NodeJS.ProcessEnv>,
): NodeJS.ProcessEnv {
  const missing = Object.entries(variables).filter(
    ([name, { isRequired }]) => isRequired && !environment[name] && !environment[`${name}_FILE`],
  );
  return {
    ...environment,
    ...Object.fromEntries(missing.map(([name, { example }]) => [name, example])),
  };
}

export function tableMistakes(variables: ServiceVariables): string[] {
  return Object.entries(variables).flatMap(([name, { parse, constraint, fallback, example }]) => {
    if (!/^[A-Z][A-Z0-9_]*$/.test(name)) {
      return [`the variable ${name} of the service must have a name such as SMTP_URL`];
    }
    if (isTaken(name) || `${name}_FILE` in variables) {
      return [`the variable ${name} of the service must have another name, which is not in use`];
    }
    const text = fallback ?? example;
    if (text === undefined || isValid(parse, text)) return [];
    const which = fallback === undefined ? 'example' : 'default';
    return [`the ${which} of the variable ${name} of the service must be ${constraint}`];
  });
}

/** Whether Node.js, OpenTelemetry, PostgreSQL's driver or the framework reads a variable. */
function isTaken(name: string): boolean {
  if (/^(NODE|OTEL|PG)_?[A-Z]/.test(name)) return true;
  const base = name.replace(/_FILE$/, '');
  return name in VARIABLES || (base in VARIABLES && 'file' in VARIABLES[base as 'DATABASE_URL']);
}

function isValid(parse: VariableType['parse'], text: string): boolean {
  try {
    return parse(text) !== undefined;
  } catch {
    return false;
  }
}
