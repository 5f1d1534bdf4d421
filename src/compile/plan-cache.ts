import { DataError } from '../../runtime/errors/errors.ts';
import { printProgram } from '../../runtime/program/print.ts';
import type { Program } from '../../runtime/program/program.ts';
import { DataWriter, parseFile } from '../../runtime/save/container.ts';
import { badFile, type Field } from '../../runtime/save/field.ts';
import { builtinModule } from '../1-capture/script/builtin-module.ts';
import { warnOnce } from '../explain/warn-once.ts';
import { cacheFromEnvironment } from '../options/environment.ts';
import { Choices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import type { CompileOptions } from './compilation.ts';

/** What decides how a program is compiled. */
export interface Subject {
  readonly program: Program;
  readonly wanted: {
    readonly needsGrad: readonly boolean[];
    readonly differentiable: readonly boolean[];
  };
  readonly options: CompileOptions;
  readonly donated: readonly number[];
}

/** Changes with what is searched, and how choices are written. */
const format = 1;

/**
 * Compiles with the choices that the folder `TOSTATIC_CACHE` has for the program, or notes them there. A file that is
 * damaged, or was written by another version of the searches, is replaced, with one warning.
 */
export function* withKnownChoices(
  subject: Subject,
  compile: (choices: Choices) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const path = pathFor(subject);
  if (path === null) return yield* compile(Choices.none());
  try {
    const saved = readChoices(path);
    if (saved) return yield* repeated(saved, compile);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    warnOnce(`TOSTATIC_CACHE: ${path} is not used, and is written again: ${error.message}`);
  }
  const choices = Choices.noted();
  const stages = yield* compile(choices);
  choices.end();
  writeChoices(path, choices);
  return stages;
}

/** Whether an earlier process has left its choices for the program. */
export function hasKnownChoices(subject: Subject): boolean {
  const path = pathFor(subject);
  return path !== null && builtinModule('node:fs')!.existsSync(path);
}

function* repeated(
  saved: Field,
  compile: (choices: Choices) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const choices = Choices.known(saved);
  const stages = yield* compile(choices);
  choices.end();
  if (!choices.isUsedUp) throw badFile(saved.path, 'more choices', 'those of one compilation');
  return { ...stages, isKnown: true };
}

/** Null: there is no folder, or no files here. */
function pathFor(subject: Subject): string | null {
  const folder = cacheFromEnvironment();
  if (folder === undefined) return null;
  const [crypto, path] = [builtinModule('node:crypto'), builtinModule('node:path')];
  if (!crypto || !path || !builtinModule('node:fs')) return null;
  const key = crypto.createHash('sha256').update(textOf(subject)).digest('hex').slice(0, 32);
  return path.join(folder, `${key}.plan`);
}

const printed = new WeakMap<Program, string>();

/** The same for programs and options that are compiled alike. A wrong match would cost time or memory, and no bits. */
function textOf({ program, wanted, options, donated }: Subject): string {
  let text = printed.get(program);
  if (text === undefined) {
    text = printProgram(program, { positions: 'none' });
    printed.set(program, text);
  }
  const { memory, without, tier, compact, rate } = options;
  const devices = new Set(program.values.map(({ device }) => device));
  const facts = [...devices].map((device) => {
    const { kind, sumsInBlocks, overwritesOperands, fusesPointwise, innerBytes } = device;
    return [kind, sumsInBlocks, overwritesOperands, fusesPointwise, innerBytes];
  });
  const { needsGrad, differentiable } = wanted;
  const settings = [memory, [...without].sort(), tier, compact, rate];
  return `${JSON.stringify([format, facts, settings, needsGrad, differentiable, donated])}\n${text}`;
}

/** Undefined: there is no such file. Throws DataError for one that is no list of choices. */
function readChoices(path: string): Field | undefined {
  let bytes: Uint8Array;
  try {
    bytes = builtinModule('node:fs')!.readFileSync(path);
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ENOENT') return undefined;
    throw badFile(path, String(cause), 'a file that can be read');
  }
  return parseFile(bytes).header.get('choices');
}

/** Whole or not at all: other processes may read it, or write it, too. */
function writeChoices(path: string, choices: Choices): void {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = builtinModule('node:fs')!;
  const unfinished = `${path}.${process.pid}.unfinished`;
  try {
    mkdirSync(builtinModule('node:path')!.dirname(path), { recursive: true });
    writeFileSync(unfinished, new DataWriter().file({ choices }));
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    warnOnce(
      `TOSTATIC_CACHE: plans are not kept: ${error instanceof Error ? error.message : error}`,
    );
  }
}
