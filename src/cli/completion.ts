import type { Command } from 'commander';
import { ArgumentError } from '../../runtime/errors/errors.ts';

/** The words after `tostatic` and after each command. */
interface Words {
  readonly commands: readonly string[];
  readonly options: Readonly<Record<string, readonly string[]>>;
}

/** Prints a script that completes commands, options and files in a shell. Throws ArgumentError for other shells. */
export function printCompletion(program: Command, shell: string): void {
  const script = scripts[shell];
  if (!script) {
    throw new ArgumentError({
      what: 'completion: no such shell',
      given: shell,
      expected: shells().join(', '),
      remedy: 'name one of them: tostatic completion bash',
    });
  }
  process.stdout.write(script(wordsOf(program)));
}

function wordsOf(program: Command): Words {
  // Hidden commands are for the CLI's own processes.
  const shown = program.createHelp().visibleCommands(program);
  const names = shown.map((command) => command.name());
  const options = shown.map((command): [string, string[]] => [
    command.name(),
    command.options.flatMap(({ long }) => (long ? [long] : [])),
  ]);
  return { commands: names, options: Object.fromEntries(options) };
}

/** The supported shells. */
const shells = (): string[] => Object.keys(scripts);

const scripts: Readonly<Record<string, (words: Words) => string>> = {
  bash: ({ commands, options }) => `# source <(tostatic completion bash)
_tostatic() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.join(' ')} --help --version" -- "$word"))
    return
  fi
  local options=""
  case "\${COMP_WORDS[1]}" in
${Object.entries(options)
  .map(([name, names]) => `    ${name}) options="${names.join(' ')} --help" ;;`)
  .join('\n')}
  esac
  case "$word" in
    [!-]* | '')
      if [ "\${COMP_WORDS[1]}" = completion ]; then
        COMPREPLY=($(compgen -W "${shells().join(' ')}" -- "$word"))
        return
      fi ;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _tostatic tostatic
`,
  zsh: ({ commands, options }) => `# source <(tostatic completion zsh)
_tostatic() {
  if (( CURRENT == 2 )); then
    compadd -- ${commands.join(' ')} --help --version
    return
  fi
  if [[ "$words[2]" == completion && "$PREFIX" != -* ]]; then
    compadd -- ${shells().join(' ')}
    return
  fi
  case "$words[2]" in
${Object.entries(options)
  .map(
    ([name, flags]) =>
      `    ${name}) [[ "$PREFIX" == -* ]] && compadd -- ${flags.join(' ')} --help ;;`,
  )
  .join('\n')}
  esac
  [[ "$PREFIX" == -* ]] || _files
}
compdef _tostatic tostatic
`,
  fish: ({ commands, options }) =>
    [
      '# tostatic completion fish | source',
      `complete -c tostatic -n __fish_use_subcommand -f -a "${commands.join(' ')}"`,
      'complete -c tostatic -n __fish_use_subcommand -l version',
      'complete -c tostatic -l help',
      `complete -c tostatic -n "__fish_seen_subcommand_from completion" -f -a "${shells().join(' ')}"`,
      ...Object.entries(options).flatMap(([name, flags]) =>
        flags.map(
          (option) =>
            `complete -c tostatic -n "__fish_seen_subcommand_from ${name}" -l ${option.slice(2)}`,
        ),
      ),
      '',
    ].join('\n'),
};
