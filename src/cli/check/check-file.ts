import { resolve } from 'node:path';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { plural } from '../../../runtime/errors/plural.ts';
import { loadFunction } from '../files/load-function.ts';
import { capturedModes, eager, type Mode } from './modes.ts';
import { compareSeparately, type ModeDifference, observeMode, type Verdict } from './processes.ts';
import { writeSmallest } from './smallest.ts';

interface CheckOptions {
  readonly function?: string;
  readonly calls: string;
  readonly seconds: string;
  readonly modes?: string;
}

type SameVerdict = Extract<Verdict, { kind: 'same' }>;

/**
 * `tostatic check`: runs a function eagerly and in every mode, each in its own process, and compares all effects. If a
 * mode differs, writes the smallest module found that still shows the difference next to the file, and exits with 1. Also
 * exits with 1 if no mode ran a program: nothing was checked then.
 */
export async function checkFile(file: string, options: CheckOptions): Promise<void> {
  const calls = wholeNumber('--calls', options.calls, 1);
  const seconds = wholeNumber('--seconds', options.seconds, 0);
  const modes = modesNamed(options.modes);
  const { name, inputs } = await loadFunction(file, options.function);
  await inputs(); // what it rejects is rejected here, once
  const request = { file: resolve(file), function: name, calls };
  const expected = await observeMode({ ...request, mode: eager });
  if ('ended' in expected) throw cannotRun(file, expected.ended);
  const { thrown } = expected.report;
  if (thrown.length > 0) {
    process.stdout.write(`${thrown.length} of ${plural(calls, 'call')} throw ${thrown[0]}\n\n`);
  }
  const different: { mode: Mode; difference: ModeDifference }[] = [];
  let checked = 0;
  const width = Math.max(...modes.map(({ name }) => name.length));
  for (const mode of modes) {
    const verdict = await compareSeparately(request, mode, expected);
    if (verdict.kind === 'different') different.push({ mode, ...verdict });
    if (verdict.kind === 'same') checked += verdict.checked;
    process.stdout.write(`${mode.name.padEnd(width)} ${sentence(verdict)}\n`);
  }
  const [first] = different;
  // Calls that throw before any program runs are compared by what they throw.
  if (!first && (checked > 0 || thrown.length > 0)) return;
  process.exitCode = 1;
  if (!first) {
    process.stdout.write('\nnothing was checked: no mode ran a program\n');
    return;
  }
  const { difference } = first;
  process.stdout.write(
    `\n${first.mode.name}, ${difference.at}\n  eager:    ${difference.eager}\n  captured: ${difference.captured}\n`,
  );
  const { text } = expected.report;
  if (text === null || seconds === 0) return;
  const written = await writeSmallest(request, { ...first, text, throws: thrown.length }, seconds);
  process.stdout.write(
    written
      ? `\n${written} still shows it\n`
      : '\nnot reduced: the module alone does not reproduce it\n',
  );
}

function sentence(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'same':
      return `as eagerly; ${checkedRuns(verdict)}`;
    case 'refused':
      return `does not apply: ${verdict.why}`;
    case 'different':
      return `DIFFERENT at ${verdict.difference.at}`;
  }
}

function checkedRuns({ checked, fallbacks }: SameVerdict): string {
  if (checked > 0) return `${plural(checked, 'run')} of programs checked`;
  const why = fallbacks.length > 0 ? fallbacks.join('; ') : 'no tensor op was captured';
  return `nothing checked: ${why}`;
}

/** Parses `default,fullGraph`: prefixes of mode names. Defaults to all modes. */
function modesNamed(text: string | undefined): readonly Mode[] {
  if (text === undefined) return capturedModes;
  return text.split(',').flatMap((prefix) => {
    const found = capturedModes.filter(({ name }) => name.startsWith(prefix.trim()));
    if (found.length > 0) return found;
    throw new ArgumentError({
      what: 'check: no such mode',
      given: `--modes ${prefix}`,
      expected: capturedModes.map(({ name }) => name).join('; '),
      remedy: 'give the beginning of a name, or leave --modes out for all',
    });
  });
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new ArgumentError({
    what: `check: ${name} is not a whole number`,
    given: `${name} ${text}`,
    expected: `an integer from ${least}`,
    remedy: 'leave it out for the default',
  });
}

function cannotRun(file: string, why: string): ArgumentError {
  return new ArgumentError({
    what: 'check: the function cannot be run eagerly',
    given: `${file}: ${why.split('\n').find((line) => line.includes('Error')) ?? why.slice(0, 200)}`,
    expected: 'a function that runs on its inputs()',
    remedy: 'run it without tostatic first',
  });
}
