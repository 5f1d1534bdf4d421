import { DataError } from '../../runtime/errors/errors.ts';
import { printProgram } from '../../runtime/program/print.ts';
import type { Program } from '../../runtime/program/program.ts';
import { badFile } from '../../runtime/save/field.ts';
import { Choices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import type { CompileOptions } from './compilation.ts';

/** Everything that decides how a program is compiled. */
export interface CompiledInput {
  readonly program: Program;
  readonly wanted: {
    readonly needsGrad: readonly boolean[];
    readonly differentiable: readonly boolean[];
  };
  readonly options: CompileOptions;
  readonly donated: readonly number[];
}

/**
 * Compiles with the choices that the cache has for the program, or leaves them there. Choices that are damaged, or
 * those of other searches, are replaced, with a warning.
 */
export function* withKnownChoices(
  subject: CompiledInput,
  compile: (choices: Choices) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const { cache } = subject.options;
  if (!cache) return yield* compile(Choices.none());
  const text = textOf(subject);
  try {
    const choices = cache.find(text);
    if (choices) return yield* repeated(choices, compile);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    cache.refuse(text, error);
  }
  const choices = Choices.noted();
  const stages = yield* compile(choices);
  choices.end();
  cache.keep(text, choices);
  return stages;
}

/** Whether the cache has choices for the program. */
export function hasKnownChoices(subject: CompiledInput): boolean {
  const { cache } = subject.options;
  return cache?.has(textOf(subject)) ?? false;
}

function* repeated(
  choices: Choices,
  compile: (choices: Choices) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const stages = yield* compile(choices);
  choices.end();
  if (!choices.isUsedUp) throw badFile('choices', 'more of them', 'those of one compilation');
  return { ...stages, isKnown: true };
}

const printed = new WeakMap<Program, string>();

/**
 * Returns a text that is equal for programs and options that are compiled the same way. A wrong match would cost time or
 * memory, and no bits.
 */
function textOf({ program, wanted, options, donated }: CompiledInput): string {
  let text = printed.get(program);
  if (text === undefined) {
    text = printProgram(program, { positions: 'none' });
    printed.set(program, text);
  }
  const { memory, without, tier, compact, rate } = options;
  const devices = new Set(program.values.map(({ device }) => device));
  const facts = [...devices].map((device) => {
    const { kind, sumsInBlocks, overwritesOperands, fusesPointwise } = device;
    const { innerBytes, mostTileColumns } = device;
    return [kind, sumsInBlocks, overwritesOperands, fusesPointwise, innerBytes, mostTileColumns];
  });
  const { needsGrad, differentiable } = wanted;
  const settings = [memory, [...without].sort(), tier, compact, rate];
  return `${JSON.stringify([facts, settings, needsGrad, differentiable, donated])}\n${text}`;
}
