import { CaptureError } from '../../runtime/errors/errors.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import { GraphWriter } from '../../runtime/save/graph-format.ts';
import type { ProgramToSave } from '../../runtime/save/program-format.ts';
import type { StateEntry } from '../../runtime/save/program-state.ts';
import { encodeEntry, type SavedEntry } from '../../runtime/save/saved-entry.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { PassName } from '../5-optimize/passes.ts';
import { defaultCompileOptions } from '../compile/compilation.ts';
import type { GuardedEntry } from '../dispatch/entry.ts';
import { neededNumbers } from '../guards/needed-numbers.ts';
import type { SourceNames } from '../guards/source.ts';
import { compileSubgraph } from '../pipeline.ts';
import { type MemoryOptions, portableMemory } from '../programs/memory-options.ts';
import { changedBy } from '../traces/recipes.ts';
import type { Resized, TraceResult } from '../traces/trace-result.ts';
import { effectsOnElements } from './array-effects.ts';
import type { CompiledFunction } from './compiled-function.ts';
import { type DocumentAt, programsForEverySize } from './every-size.ts';
import { expectKnownShapes } from './known-shapes.ts';
import { notSavable } from './not-savable.ts';
import { EntryWriter } from './save-entry.ts';
import { failedGuards, savedGuards } from './save-guards.ts';
import { SourceMapper } from './source-mapper.ts';

/**
 * Collects the contents of a file for a captured function: each program compiled so far whose guards other than those
 * on arguments hold now, with the state that they read.
 */
export function programToSave(fn: CompiledFunction): ProgramToSave {
  const { name, inputSpec, entries, frames, bound } = fn;
  if (frames[0]!.closure.code.isGenerator) {
    const remedy = 'capture and save the functions that it calls between its yields';
    throw notSavable(name, 'it is a generator function, which is compiled in parts', remedy);
  }
  const names = entries[0]?.entry.names ?? { codes: [], pcs: [] };
  const mapper = new SourceMapper({ name, frames, names, bound });
  mapper.written = writtenBy(entries, mapper);
  const graphs = new GraphWriter();
  // Inputs come first, so that a tensor gets the name under which the program reads it.
  for (const source of entries.flatMap(({ entry }) => entry.result.inputs)) {
    if (!mapper.isArgument(source) && mapper.isTensor(source)) mapper.of(source);
  }
  let fits = false;
  const saved = entries.flatMap(({ entry, guards }) => {
    const { result, part, subgraph } = entry;
    const planned = subgraph?.portable.planned ?? null;
    const trace = { ...result, name, names, guards, isPlanned: planned !== null };
    const checked = savedGuards(trace, mapper, frames);
    if (!checked) return [];
    fits ||= checked.fits;
    const writer = new EntryWriter(name, trace, mapper);
    if (part.tooSmall)
      throw notSavable(name, 'a graph smaller than minGraphSize, which is not compiled');
    if (planned) expectKnownShapes(name, planned.forward.steps);
    return [writer.entry(checked.guards, planned, graphs)];
  });
  const everySize = fn.sized.flatMap(({ resized, names: known }) => {
    const documentAt = documentOf(fn, resized, known, mapper);
    return programsForEverySize(resized, fn.bounds, mapper, documentAt);
  });
  if (fits) {
    const state = withGradients(mapper.state, saved);
    return { name, inputSpec, state, entries: saved, everySize, graphs };
  }
  const isNew = entries.length === 0;
  const changed = entries.slice(-1).flatMap(({ entry, guards }) => {
    return failedGuards({ ...entry.result, names, guards }, mapper, frames).slice(0, 2);
  });
  throw new CaptureError({
    what: `save: nothing is compiled for ${name || 'the function'}`,
    given: isNew
      ? 'a function that was not called yet'
      : `a function whose outer variables have changed since: ${changed.join(', ')} doesn't hold`,
    expected: 'a program for each kind of call that the file is to serve',
    remedy: isNew
      ? 'call it once with each kind of arguments, then save it'
      : 'call it until calls compile nothing new, then save it where its next call would be',
  });
}

/** Adds the gradients that a program reads to the state, for steps that accumulate into them. */
function withGradients(
  state: readonly StateEntry[],
  entries: readonly SavedEntry[],
): readonly StateEntry[] {
  const read = new Set(
    entries.flatMap(({ inputs }) =>
      inputs.flatMap(({ place }) => (place.kind === 'state' ? [place.index] : [])),
    ),
  );
  return state.map((entry, i) => {
    if (!('gradientOf' in entry) || !read.has(i)) return entry;
    const of = state[entry.gradientOf]!;
    const tensor = 'value' in of && of.value instanceof Tensor ? of.value : null;
    return { ...entry, gradient: tensor?.grad ?? null };
  });
}

/** Returns the program of a trace for given sizes, as data. */
function documentOf(
  { name, frames, memory }: CompiledFunction,
  resized: Resized,
  names: SourceNames,
  mapper: SourceMapper,
): DocumentAt {
  return (sizes, ordered) => {
    const result = resized.atSizes(frames, sizes);
    if (!result) return null;
    const guards = [...resized.guards, ...result.guards, ...neededNumbers(result)];
    const planned = planFor(result, memory, ordered);
    const trace = { ...result, name, names, guards, isPlanned: planned !== null };
    const checked = savedGuards(trace, mapper, frames);
    if (!checked) return null;
    const graphs = new GraphWriter();
    const entry = new EntryWriter(name, trace, mapper).entry(checked.guards, planned, graphs);
    // Returns it as stored in a file.
    return JSON.parse(
      JSON.stringify({ graphs: graphs.graphs, entry: encodeEntry(entry) }),
    ) as unknown;
  };
}

/** The fusing passes, whose results depend on sizes: ops over one shape may have two shapes at other sizes. */
const sizedWithout: ReadonlySet<PassName> = new Set(['fusePointwise', 'fuseRows', 'fuseUpdates']);

/**
 * Slices and the arena are chosen for one set of sizes, and redundancy depends on sizes (a tensor of one row is its
 * own transpose). A memory-saving order serves other sizes, too; with regions or in-place writes, ops stay in
 * program order.
 */
function planFor(
  result: TraceResult,
  memory: MemoryOptions,
  ordered: boolean,
): PlannedSubgraph | null {
  const { program } = result;
  if (program.ops.length === 0) return null;
  const stays = program.ops.some((op) => op.regions || writtenOperands(op).length > 0);
  const order = memory.order && ordered && !stays;
  const asSaved = {
    ...portableMemory(memory),
    order,
    simplify: false,
    slices: false,
    arena: false,
  };
  const options = { ...defaultCompileOptions, memory: asSaved, without: sizedWithout };
  return compileSubgraph(program, result, options).planned;
}

/** Properties other than arguments that some entry changes. */
function writtenBy(entries: readonly GuardedEntry[], mapper: SourceMapper): ReadonlySet<string> {
  const written = entries.flatMap(({ entry }) =>
    effectsOnElements(entry.result, mapper).flatMap((effect) => {
      const object = changedBy(effect);
      if (!object) return [];
      if (effect.kind !== 'setProperty') return [mapper.keyOf(object)];
      return [mapper.keyOf({ kind: 'property', base: object, key: effect.key })];
    }),
  );
  return new Set(written);
}
