import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** A script that completes commands, options and their choices. Files are completed where nothing else is. */
export function completionScript(program: Command, shell: Shell): string {
  return shell === 'fish' ? fishScript(program) : bashScript(program, shell);
}

interface Completed {
  /** Such as `token create`. */
  readonly path: readonly string[];
  readonly command: Command;
}

/** The most specific first. */
function allOf(command: Command, path: readonly string[] = []): readonly Completed[] {
  const inner = command.commands.flatMap((each) => allOf(each, [...path, each.name()]));
  return [...inner, { path, command }];
}

function bashScript(program: Command, shell: Shell): string {
  const name = program.name();
  const cases = allOf(program).map(({ path, command }) => {
    const words = [
      ...command.commands.map((each) => each.name()),
      ...command.options.map(({ long }) => long),
      ...argumentsOf(command),
    ];
    const begin = path.map((word) => ` ${word}`).join('');
    return `    '${begin}'*) words='${words.join(' ')}' ;;\n`;
  });
  const choices = optionsWithChoices(program).map(
    ({ long, argChoices = [] }) => `    ${long}) words='${argChoices.join(' ')}' ;;\n`,
  );
  const handler = `_${name.replaceAll('-', '_')}`;
  const zsh = shell === 'zsh' ? 'autoload -Uz compinit bashcompinit\ncompinit\nbashcompinit\n' : '';
  return `${zsh}${handler}() {
  local words='' path='' word
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$word" in -*) ;; *) path="$path $word" ;; esac
  done
  case "$path" in
${cases.join('')}  esac
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
${choices.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F ${handler} ${name}
`;
}

function argumentsOf({ registeredArguments }: Command): readonly string[] {
  return registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
}

function optionsWithChoices(program: Command): readonly Option[] {
  const options = allOf(program).flatMap(({ command }) => command.options);
  const found = options.filter(({ argChoices }) => argChoices !== undefined);
  return found.filter(({ long }, at) => found.findIndex((each) => each.long === long) === at);
}

function fishScript(program: Command): string {
  const lines = allOf(program).flatMap(({ path, command }) => {
    const inner = command.commands.map((each) => each.name()).join(' ');
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const where = seen.join('; and ');
    const first = [...seen, `not __fish_seen_subcommand_from ${inner}`].join('; and ');
    const commands = command.commands.map(
      (each) => `-f -n '${first}' -a ${each.name()} -d ${quoted(each.description())}`,
    );
    const options = command.options.map(({ long, description, argChoices, required }) => {
      const values = argChoices ? ` -x -a '${argChoices.join(' ')}'` : required ? ' -r' : '';
      const condition = where === '' ? '__fish_use_subcommand' : where;
      return `-n '${condition}' -l ${long?.slice(2)}${values} -d ${quoted(description)}`;
    });
    const choices = argumentsOf(command).map((each) => `-f -n '${where}' -a ${each}`);
    return commands.concat(options, choices);
  });
  return lines.map((line) => `complete -c ${program.name()} ${line}\n`).join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll(/(?=[\\'])/g, '\\')}'`;
}
