import { CaptureError } from '../../runtime/errors/errors.ts';
import type { InputSpec } from '../../runtime/input-spec/spec.ts';
import { GraphWriter } from '../../runtime/save/graph-format.ts';
import type { ProgramToSave } from '../../runtime/save/program-format.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../bytecode/frame.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { GuardedEntry } from '../resume/entry.ts';
import { changedBy } from '../traces/recipes.ts';
import { notSavable } from './not-savable.ts';
import { Places } from './places.ts';
import { EntryWriter } from './save-entry.ts';
import { savedGuards } from './save-guards.ts';

/** A captured function with what was compiled for it. */
export interface CompiledFunction {
  readonly name: string;
  readonly inputSpec: readonly InputSpec[] | null;
  readonly entries: readonly GuardedEntry[];
  /** The frame of a call without arguments, and how many are bound. */
  readonly frames: readonly Frame[];
  readonly bound: number;
}

/**
 * What a file holds of a captured function: each program that was compiled for it so far and whose
 * conditions outside of the arguments hold now, with the state that they read.
 */
export function programToSave({
  name,
  inputSpec,
  entries,
  frames,
  bound,
}: CompiledFunction): ProgramToSave {
  const names = entries[0]?.entry.names ?? { codes: [], pcs: [] };
  const places = new Places({ name, frames, names, bound });
  const written = writtenBy(entries);
  const graphs = new GraphWriter();
  // First, so that a tensor has the name under which the program reads it.
  for (const source of entries.flatMap(({ entry }) => entry.result.inputs)) {
    if (!places.isArgument(source) && places.valueOf(source) instanceof Tensor) places.of(source);
  }
  const saved = entries.flatMap(({ entry, guards }) => {
    const { result, part, subgraph } = entry;
    const trace = { ...result, name, names, guards };
    const asked = savedGuards(trace, places, written, frames);
    if (!asked) return [];
    const writer = new EntryWriter(name, result, places);
    if (part.tooSmall)
      throw notSavable(name, 'a graph smaller than minGraphSize, which is not compiled');
    return [writer.entry(asked, subgraph?.portable.planned ?? null, graphs)];
  });
  if (saved.length > 0) return { name, inputSpec, state: places.state, entries: saved, graphs };
  throw new CaptureError({
    what: `save: nothing is compiled for ${name || 'the function'}`,
    given:
      entries.length === 0
        ? 'a function that was not called yet'
        : 'a function whose surroundings have changed since',
    expected: 'a program for each kind of call that the file is to serve',
    remedy: 'call it once with each kind of arguments, then save it',
  });
}

/** Properties outside of the arguments that some entry changes. */
function writtenBy(entries: readonly GuardedEntry[]): ReadonlySet<string> {
  const written = entries.flatMap(({ entry }) =>
    entry.result.effects.flatMap((effect) => {
      const object = changedBy(effect);
      if (!object) return [];
      if (effect.kind !== 'setProperty') return [sourceKey(object)];
      return [sourceKey({ kind: 'property', base: object, key: effect.key })];
    }),
  );
  return new Set(written);
}
