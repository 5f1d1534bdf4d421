import { DataError } from '../../runtime/errors/errors.ts';
import { badFile } from '../../runtime/save/file/field.ts';
import { Choices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { Steps } from '../programs/steps.ts';
import type { CompiledInput } from './compilation.ts';

/**
 * Compiles with the cached choices for the program, or caches the choices it makes. Choices that are damaged or belong
 * to other searches are replaced, with a warning. A first plan makes no search and has no choices.
 */
export function* withKnownChoices(
  subject: CompiledInput,
  compile: (choices: Choices) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const { cache, tier } = subject.options;
  if (!cache || tier === 'first') return yield* compile(Choices.none());
  try {
    const choices = cache.find(subject);
    if (choices) return yield* repeated(choices, compile);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    cache.refuse(subject, error);
  }
  const choices = Choices.noted();
  const stages = yield* compile(choices);
  choices.end();
  cache.keep(subject, choices);
  return stages;
}

/** Whether the cache holds choices for the program. */
export function hasKnownChoices(subject: CompiledInput): boolean {
  const { cache } = subject.options;
  return cache?.has(subject) ?? false;
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
