import type { LostHistory } from '../autograd/lost-history.ts';
import type { SameOutput } from '../run-program/same-outputs.ts';
import type { Field } from './file/field.ts';
import type { ReadGraph } from './graph-reader.ts';
import {
  encodeMake,
  encodeRecipe,
  type Limits,
  readMake,
  readRecipe,
  type SavedMake,
  type SavedRecipe,
} from './recipe.ts';
import { encodeGuard, readGuard, type SavedGuard } from './saved-guard.ts';
import { encodeSource, readSource, type SavedSource } from './saved-source.ts';

/** A change to a pre-existing value, made after the run. */
export type SavedEffect =
  | { readonly kind: 'set'; readonly place: SavedSource; readonly value: SavedRecipe }
  | { readonly kind: 'delete'; readonly place: SavedSource }
  /** The elements from the start or end of an array; null for a hole. */
  | {
      readonly kind: 'fill';
      readonly place: SavedSource;
      readonly from: 'start' | 'end';
      readonly items: readonly (SavedRecipe | null)[];
    }
  | { readonly kind: 'dispose'; readonly place: SavedSource }
  | { readonly kind: 'disposeOutput' | 'keepOutput'; readonly output: number }
  /** The number of random draws, as counted by the program. */
  | { readonly kind: 'draw'; readonly count: SavedRecipe };

const effectKinds = [
  'set',
  'delete',
  'fill',
  'dispose',
  'disposeOutput',
  'keepOutput',
  'draw',
] as const;

/** One path through the function: its guards, its program, and what follows from the results. */
export interface SavedEntry {
  /** Whether gradients were recorded when it was traced. */
  readonly gradMode: boolean;
  readonly guards: readonly SavedGuard[];
  /** The inputs of the program. */
  readonly inputs: readonly { readonly place: SavedSource; readonly requiresGrad: boolean }[];
  /** JavaScript numbers that the program receives. */
  readonly numbers: readonly SavedSource[];
  /** The index of the program in the file; null if nothing is computed. */
  readonly graph: number | null;
  readonly makes: readonly SavedMake[];
  readonly effects: readonly SavedEffect[];
  readonly result: SavedRecipe;
  /** Outputs that are read as numbers and freed. */
  readonly reads: readonly number[];
  /** Outputs that only some union members contain; freed if none of these members is chosen. */
  readonly optional: readonly number[];
  /** For each output, why its graph can no longer run backward; null if it can, or if there is no graph. */
  readonly spent: readonly (LostHistory | null)[];
  /** The count of random numbers that a run draws. */
  readonly randomNumbers: number;
  /** Outputs that may be an input or another output after a run. */
  readonly same: readonly SameOutput[];
}

export function encodeEntry(entry: SavedEntry): unknown {
  return {
    ...entry,
    guards: entry.guards.map(encodeGuard),
    inputs: entry.inputs.map(({ place, requiresGrad }) => ({
      place: encodeSource(place),
      requiresGrad,
    })),
    numbers: entry.numbers.map(encodeSource),
    makes: entry.makes.map(encodeMake),
    effects: entry.effects.map(encodeEffect),
    result: encodeRecipe(entry.result),
  };
}

function encodeEffect(effect: SavedEffect): unknown {
  if ('output' in effect) return effect;
  if (effect.kind === 'draw') return { ...effect, count: encodeRecipe(effect.count) };
  const place = encodeSource(effect.place);
  if (effect.kind === 'set') return { ...effect, place, value: encodeRecipe(effect.value) };
  if (effect.kind !== 'fill') return { ...effect, place };
  return { ...effect, place, items: effect.items.map((item) => item && encodeRecipe(item)) };
}

function readSame(field: Field, outputs: number): SameOutput {
  const numberIn = (field: Field) => field.int(0, outputs - 1);
  return {
    output: numberIn(field.get('output')),
    others: field.list('others', (other) => ({
      index: numberIn(other.get('index')),
      isLeaf: other.get('isLeaf').boolean(),
    })),
    mayBeInput: field.get('mayBeInput').boolean(),
  };
}

/** Throws DataError if the entry refers to anything that doesn't exist. */
export function readEntry(field: Field, states: number, graphs: readonly ReadGraph[]): SavedEntry {
  const graphField = field.get('graph');
  const graph = graphField.isNull ? null : graphField.int(0, graphs.length - 1);
  const { planned, scalarInputs = 0 } = graph === null ? {} : graphs[graph]!;
  const makes = field.get('makes').items();
  const outputs = planned?.forward.outputs.length ?? 0;
  const limits: Limits = { states, outputs, makes: makes.length };
  const place = (item: Field) => readSource(item, states);
  const readInput = (input: Field) => ({
    place: place(input.get('place')),
    requiresGrad: input.get('requiresGrad').boolean(),
  });
  return {
    gradMode: field.get('gradMode').boolean(),
    guards: field.list('guards', (guard) => readGuard(guard, states)),
    inputs: field.list('inputs', readInput, planned?.forward.inputs.length ?? 0),
    numbers: field.list('numbers', place, scalarInputs),
    graph,
    makes: makes.map((make) => readMake(make, limits)),
    effects: field.list('effects', (effect) => readEffect(effect, limits)),
    result: readRecipe(field.get('result'), limits),
    reads: field.list('reads', (index) => index.int(0, outputs - 1)),
    optional: field.list('optional', (index) => index.int(0, outputs - 1)),
    spent: field.list('spent', readLost, outputs),
    randomNumbers: field.get('randomNumbers').int(),
    // Files of earlier versions lack it.
    same: field.optionalList('same', (same) => readSame(same, outputs)),
  };
}

function readLost(field: Field): LostHistory | null {
  if (field.isNull || typeof field.value === 'string') return field.isNull ? null : field.string();
  const text = (key: string) => field.get(key).string();
  const [what, given, expected, remedy] = ['what', 'given', 'expected', 'remedy'].map(text);
  return { what: what!, given: given!, expected: expected!, remedy: remedy! };
}

function readEffect(field: Field, limits: Limits): SavedEffect {
  const kind = field.get('kind').oneOf(effectKinds);
  if (kind === 'disposeOutput' || kind === 'keepOutput') {
    return { kind, output: field.get('output').int(0, limits.outputs - 1) };
  }
  if (kind === 'draw') return { kind, count: readRecipe(field.get('count'), limits) };
  const at = field.get('place');
  const source = readSource(at, limits.states);
  const isProperty = source.kind === 'property';
  const isInArgument = isProperty || source.kind === 'argument';
  const fits = {
    set: isProperty || source.kind === 'state',
    delete: isProperty,
    fill: isInArgument,
    dispose: isInArgument || source.kind === 'state',
  };
  if (!fits[kind]) at.fail('a place that can be changed');
  if (kind === 'delete' || kind === 'dispose') return { kind, place: source };
  if (kind === 'set') return { kind, place: source, value: readRecipe(field.get('value'), limits) };
  return {
    kind,
    place: source,
    from: field.get('from').oneOf(['start', 'end']),
    items: field.list('items', (item) => (item.isNull ? null : readRecipe(item, limits))),
  };
}
