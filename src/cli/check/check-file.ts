import { rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { plural } from '../../../runtime/errors/plural.ts';
import { loadFunction } from '../files/load-function.ts';
import { capturedModes, eager, type Mode } from './modes.ts';
import { judge, type ModeDifference, seeMode } from './processes.ts';
import { reduce } from './reduce.ts';
import { type ModeRequest, runMode } from './run-mode.ts';

interface CheckOptions {
  readonly function?: string;
  readonly calls: string;
  readonly seconds: string;
  readonly modes?: string;
}

/**
 * `tostatic check`: runs a function eagerly and in every mode, each in its own process, and compares all effects.
 * If a mode differs, writes the smallest module found that still shows the difference beside the file, and exits
 * with 1.
 */
export async function checkFile(file: string, options: CheckOptions): Promise<void> {
  const calls = wholeNumber('--calls', options.calls);
  const seconds = wholeNumber('--seconds', options.seconds);
  const modes = modesNamed(options.modes);
  const { name, inputs } = await loadFunction(file, options.function);
  await inputs(); // what it rejects is rejected here, once
  const request = { file: resolve(file), function: name, calls };
  const expected = await seeMode({ ...request, mode: eager });
  if ('ended' in expected) throw cannotRun(file, expected.ended);
  const { thrown } = expected.report;
  if (thrown.length > 0) {
    process.stdout.write(`${thrown.length} of ${plural(calls, 'call')} throw ${thrown[0]}\n\n`);
  }
  const different: { mode: Mode; difference: ModeDifference }[] = [];
  const width = Math.max(...modes.map(({ name }) => name.length));
  for (const mode of modes) {
    const verdict = await judge(request, mode, expected);
    if (!verdict) continue;
    if (verdict.kind === 'different') different.push({ mode, ...verdict });
    process.stdout.write(`${mode.name.padEnd(width)} ${sentence(verdict)}\n`);
  }
  const [first] = different;
  if (!first) return;
  process.exitCode = 1;
  const { at, eager: wanted, captured } = first.difference;
  process.stdout.write(
    `\n${first.mode.name}, ${at}\n  eager:    ${wanted}\n  captured: ${captured}\n`,
  );
  const { text } = expected.report;
  if (text === null || seconds === 0) return;
  const written = await writeSmallest(request, first.mode, text, Date.now() + seconds * 1000);
  process.stdout.write(
    written
      ? `\n${written} still shows it\n`
      : '\nnot reduced: the module alone does not reproduce it\n',
  );
}

/** The hidden command that runs one mode in its own process and reports to its parent. */
export async function checkMode(text: string): Promise<void> {
  const report = await runMode(JSON.parse(text) as ModeRequest);
  process.send!(report, () => process.disconnect());
}

function sentence(verdict: NonNullable<Awaited<ReturnType<typeof judge>>>): string {
  switch (verdict.kind) {
    case 'same':
      return `as eagerly; ${plural(verdict.checked, 'run')} of programs checked`;
    case 'refused':
      return `does not apply: ${verdict.why}`;
    case 'different':
      return `DIFFERENT at ${verdict.difference.at}`;
  }
}

async function writeSmallest(
  request: Omit<ModeRequest, 'mode'>,
  mode: Mode,
  text: string,
  deadline: number,
): Promise<string | null> {
  const name = basename(request.file).replace(/\.[cm]?[jt]sx?$/, '');
  const result = join(dirname(request.file), `${name}.check.mjs`);
  const stillShows = async (candidate: string): Promise<boolean> => {
    writeFileSync(result, candidate);
    const verdict = await judge({ ...request, file: result }, mode);
    return verdict?.kind === 'different';
  };
  const whole = text.replace(/^\/\/# source(?:MappingURL|URL)=.*$/gm, '');
  if (!(await stillShows(whole))) {
    rmSync(result, { force: true });
    return null;
  }
  const names = ['inputs', ...(request.function ? [request.function] : [])];
  const smallest = await reduce(whole, names, stillShows, deadline);
  writeFileSync(
    result,
    `// ${mode.name} differs from eager execution: tostatic check ${basename(result)}\n${smallest}`,
  );
  return result;
}

/** Parses `default,fullGraph`: prefixes of mode names. All modes by default. */
function modesNamed(text: string | undefined): readonly Mode[] {
  if (text === undefined) return capturedModes;
  return text.split(',').flatMap((given) => {
    const found = capturedModes.filter(({ name }) => name.startsWith(given.trim()));
    if (found.length > 0) return found;
    throw new ArgumentError({
      what: 'check: no such mode',
      given: `--modes ${given}`,
      expected: capturedModes.map(({ name }) => name).join('; '),
      remedy: 'give the beginning of a name, or leave --modes out for all',
    });
  });
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new ArgumentError({
    what: `check: ${name} is not a whole number`,
    given: `${name} ${text}`,
    expected: 'an integer from 0',
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
