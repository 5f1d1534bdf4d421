import { differs } from '../../../runtime/autograd/checkpoint.ts';
import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { RunProgramNode } from '../../../runtime/run-program/grad-node.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { contentsOf } from '../../guards/collection-slots.ts';
import { compileRead, compileReader, type Reader, type Source } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import type { Rerun } from '../../traces/reruns.ts';
import type { TraceResult } from '../../traces/trace-result.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import { owns } from '../../vm/language/primordials.ts';
import type { OwnedTensors } from '../ownership/owned-tensors.ts';
import type { RunValues } from './materialize.ts';

type Effects = (values: RunValues, owned: OwnedTensors) => () => void;

/**
 * Adds to the effects of a run that what bodies of `checkpoint` calls read is compared: as it is after the effects, and
 * as it is when backward begins.
 */
export function watchingReruns(
  { reruns }: TraceResult,
  effects: Effects | undefined,
): Effects | undefined {
  if (reruns.length === 0) return effects;
  const compiled = reruns.map(compileRerun);
  return (values, owned) => {
    const apply = effects?.(values, owned);
    const watched = compiled.map((read) => read(values));
    return () => {
      apply?.();
      const checks = watched.map((watch) => watch());
      for (const node of nodesOf(values)) {
        node.beforeBackward = (outputs) => {
          for (const check of checks) check(outputs);
        };
      }
    };
  };
}

/** Returns the nodes of the outputs that the run computed. */
function nodesOf({ inputs, outputs }: RunValues): readonly RunProgramNode[] {
  const earlier = new Set(inputs.map(({ gradEdge }) => gradEdge?.node));
  return outputs.flatMap(({ gradEdge }) => {
    const node = gradEdge?.node;
    return node instanceof RunProgramNode && !earlier.has(node) ? [node] : [];
  });
}

function compileRerun({ outputs, sources, contents, made }: Rerun) {
  const readContents = contents.map(compileReader);
  const readSources = compileSources(sources);
  const isIn = new Set(outputs);
  return ({ frames, made: objects }: RunValues) => {
    const sourcesNow = readSources(frames);
    const changed = readContents.map((read) => read(frames) as object);
    const created = made.map(({ index, keys }) => [objects[index] as object, keys] as const);
    const readAll = () => [
      ...sourcesNow(),
      ...changed.flatMap((object) => readParts(object, null)),
      ...created.flatMap(([object, keys]) => readParts(object, keys)),
    ];
    return () => {
      let before: readonly unknown[] | null = readAll();
      return (differentiated: readonly number[]) => {
        if (!before || !differentiated.some((output) => isIn.has(output))) return;
        if (!isSame(before, readAll)) throw differs('it reads what has changed since');
        // Eager backward runs the body once, even if the graph is retained.
        before = null;
      };
    };
  };
}

/** Compiles the sources: what the body doesn't read itself is read once, before the effects of the run. */
function compileSources(sources: readonly Source[]) {
  const reread = new Set(sources.map(sourceKey));
  const held: Reader[] = [];
  const readers = new Map<string, Reader>();
  const readerOf = (source: Source): Reader => {
    return getOrInsert(readers, sourceKey(source), () => {
      const isRead = reread.has(sourceKey(source));
      if (isRead && (owns(source, 'base') || source.kind === 'free')) {
        return compileRead(source, readerOf);
      }
      const index = held.push(compileReader(source)) - 1;
      return (values) => values[index];
    });
  };
  const compiled = sources.map(readerOf);
  return (frames: readonly Frame[]) => {
    const values = held.map((read) => read(frames)) as readonly Frame[];
    return () => compiled.flatMap((read) => identified(read(values)));
  };
}

/** Other objects are told apart by what is read of them. */
function identified(value: unknown): unknown[] {
  if (value instanceof Tensor) return [value, value.requiresGrad];
  return typeof value === 'object' && value !== null ? [] : [value];
}

function readParts(object: object, keys: readonly string[] | null): unknown[] {
  if (keys) {
    return keys.map((key) => {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      if (!property) return absent;
      return property.get ?? property.value;
    });
  }
  if (Array.isArray(object) || ArrayBuffer.isView(object)) return elementsOf(object as unknown[]);
  return isCollection(object) ? contentsOf(object) : Reflect.ownKeys(object);
}

/** Calls no iterator, which may be the user's. */
function elementsOf(list: ArrayLike<unknown>): unknown[] {
  const all: unknown[] = [list.length];
  for (let i = 0; i < list.length; i++) all.push(list[i]);
  return all;
}

/** Stands for a property that an object doesn't have. */
const absent = Symbol('absent');

const isCollection = (object: object) => object instanceof Map || object instanceof Set;

function isSame(before: readonly unknown[], readAll: () => readonly unknown[]): boolean {
  try {
    const now = readAll();
    return now.length === before.length && now.every((each, i) => Object.is(each, before[i]));
  } catch {
    return false;
  }
}
