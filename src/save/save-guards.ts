import { mapNumber, type SourceNumber } from '../../runtime/entry/number-expr.ts';
import type { Program } from '../../runtime/program/program.ts';
import { isPrimitiveValue } from '../../runtime/save/primitive.ts';
import type { SavedNumber } from '../../runtime/save/recipe.ts';
import type { SavedGuard } from '../../runtime/save/saved-guard.ts';
import type { SavedSource } from '../../runtime/save/saved-source.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Guard, GuardSet } from '../guards/guard.ts';
import { sourcesOf } from '../guards/guard-sources.ts';
import type { NumberExpr, TracedNumber } from '../guards/number-expr.ts';
import { printGuard } from '../guards/print-guard.ts';
import { printSource, type Source, type SourceNames } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { notSavable } from './not-savable.ts';
import type { SourceMapper } from './source-mapper.ts';

export function savedNumber(
  expr: NumberExpr,
  mapper: SourceMapper,
  sizes: readonly number[],
): SavedNumber {
  return mapNumber<TracedNumber, SourceNumber<SavedSource>>(expr, (leaf) =>
    leaf.kind === 'source'
      ? { kind: 'source', source: mapper.of(leaf.source) }
      : { kind: 'constant', value: sizes[leaf.index]! },
  );
}

interface GuardedTrace {
  readonly name: string;
  readonly guards: readonly Guard[];
  readonly sizes: readonly number[];
  readonly inputs: readonly Source[];
  readonly program: Program;
  /** Whether the file contains a plan, whose values determine the inputs. */
  readonly isPlanned: boolean;
  readonly names: SourceNames;
}

interface CheckedGuards {
  readonly guards: readonly SavedGuard[];
  /** Whether the guards on state hold now, so that the program can serve the next call. */
  readonly fits: boolean;
}

/**
 * Returns the guards that a loaded program must check: those on arguments, and those on state that some entry writes.
 * Other guards that hold now hold forever; null if one doesn't hold.
 */
export function savedGuards(
  trace: GuardedTrace,
  mapper: SourceMapper,
  frames: readonly Frame[],
): CheckedGuards | null {
  const ofArguments = (guard: Guard) => sourcesOf(guard).some((each) => mapper.isArgument(each));
  const ofWritten = (guard: Guard) =>
    sourcesOf(guard).some((each) => mapper.written.has(mapper.keyOf(each)));
  const isChecked = (guard: Guard) => ofArguments(guard) || ofWritten(guard);
  const hold = (guards: readonly Guard[]) => new GuardSet(guards, trace.sizes).holds(frames);
  // A tensor that a program replaced doesn't come back; other programs serve its replacements.
  const isOfTensor = (guard: Guard) => guard.kind === 'identity' && guard.value instanceof Tensor;
  const needed = trace.guards.filter((guard) =>
    isChecked(guard) ? isOfTensor(guard) && !ofArguments(guard) : guard.kind !== 'gradMode',
  );
  if (!hold(needed)) return null;
  return {
    guards: trace.guards.filter(isChecked).flatMap((guard) => savedGuard(guard, trace, mapper)),
    fits: hold(trace.guards.filter((guard) => ofWritten(guard) && !ofArguments(guard))),
  };
}

/** Describes the facts that a trace relies on, other than about arguments, and that don't hold now. */
export function failedGuards(
  { guards, sizes, names }: Pick<GuardedTrace, 'guards' | 'sizes' | 'names'>,
  mapper: SourceMapper,
  frames: readonly Frame[],
): string[] {
  const failed = guards.filter(
    (guard) =>
      guard.kind !== 'gradMode' &&
      !sourcesOf(guard).some((each) => mapper.isArgument(each)) &&
      !new GuardSet([guard], sizes).holds(frames),
  );
  return failed.map((guard) => printGuard(guard, names));
}

function savedGuard(guard: Guard, trace: GuardedTrace, mapper: SourceMapper): SavedGuard[] {
  switch (guard.kind) {
    case 'gradMode':
    case 'device':
    case 'opDevice':
    // An argument is always initialized.
    case 'initialized':
    // A loaded program accepts plain data: it rejects values that it can't write.
    case 'change':
    case 'data':
    // A loaded program reads only a tensor's data, and calls no methods.
    case 'prototype':
    case 'bare':
      return [];
    case 'value': {
      const { kind, value, source } = guard;
      if (source.kind === 'query' && source.query === 'tensors') {
        return tensorsAlone(source.base, trace, mapper);
      }
      // Handled like `bare`.
      if (source.kind === 'query' && source.query === 'bareTensors') return [];
      // Arrays in modules, which are no arguments.
      if (source.kind === 'query' && source.query === 'statePlaces') return [];
      if (!isPrimitiveValue(value)) return refuse(guard, trace);
      return [{ kind, source: mapper.of(guard.source), value }];
    }
    case 'number':
      return [{ ...guard, expr: savedNumber(guard.expr, mapper, trace.sizes) }];
    case 'truthy':
    case 'defined':
    case 'typeof':
    case 'isArray':
    case 'keys':
      return [{ ...guard, source: mapper.of(guard.source) }];
    case 'plainArray':
      return [{ kind: 'isArray', source: mapper.of(guard.source), isArray: true }];
    case 'same':
      // Arguments, and values that a program writes, are never the function's own objects.
      if (!guard.same && [guard.source, guard.other].some((each) => mapper.isObject(each)))
        return [];
      return [{ ...guard, source: mapper.of(guard.source), other: mapper.of(guard.other) }];
    case 'distinct':
      return differentPairs(guard, mapper).map(([source, other]) => {
        return { kind: 'same', source: mapper.of(source), other: mapper.of(other), same: false };
      });
    case 'tensor': {
      const { kind, dtype, source } = guard;
      const key = sourceKey(source);
      const input = trace.inputs.findIndex((each) => sourceKey(each) === key);
      if (input >= 0 && trace.isPlanned) return [];
      const { inputs, values } = trace.program;
      const { shape } = input >= 0 ? values[inputs[input]!]! : guard;
      return [{ kind, source: mapper.of(source), dtype, shape: shape as number[] }];
    }
    case 'identity': {
      const { source, value } = guard;
      if (value instanceof Tensor && !mapper.isArgument(source)) {
        const other = mapper.of({ kind: 'held', value, name: printSource(source, trace.names) });
        return [{ kind: 'same', source: mapper.of(source), other, same: true }];
      }
      const isMethod =
        source.kind === 'property' && value === Reflect.get(Array.prototype, source.key);
      if (!isMethod) return refuse(guard, trace);
      // An array's own method is the one of every array.
      return [{ kind: 'isArray', source: mapper.of(source.base), isArray: true }];
    }
    case 'closure':
    case 'code':
    case 'bound':
    case 'leaf':
      return refuse(guard, trace);
    case 'collection':
    case 'members': {
      if (mapper.isArgument(guard.source)) return refuse(guard, trace);
      const text = printSource(guard.source, trace.names);
      const remedy = 'keep what changes in properties of objects, or in a Map or Set of each call';
      throw notSavable(trace.name, `it changes ${text}, a pre-existing Map or Set`, remedy);
    }
  }
}

/** The array has as many elements as the program reads, and each is determined by an input. */
function tensorsAlone(array: Source, { inputs }: GuardedTrace, mapper: SourceMapper): SavedGuard[] {
  const length: Source = { kind: 'property', base: array, key: 'length' };
  return [
    { kind: 'isArray', source: mapper.of(array), isArray: true },
    { kind: 'value', source: mapper.of(length), value: elementsOf(array, inputs).length },
  ];
}

/** Returns those of the inputs that are the tensors of an array. */
export function elementsOf(array: Source, inputs: readonly Source[]): readonly Source[] {
  const key = sourceKey(array);
  return inputs.filter((input) => input.kind === 'property' && sourceKey(input.base) === key);
}

/**
 * Returns pairs of sources that must differ, with at least one argument: other values remain as distinct as they are.
 */
function differentPairs(
  { sources, others }: Guard & { kind: 'distinct' },
  mapper: SourceMapper,
): (readonly [Source, Source])[] {
  return sources.flatMap((source, i) =>
    [...sources.slice(i + 1), ...others]
      .filter((other) => mapper.isArgument(source) || mapper.isArgument(other))
      .map((other) => [source, other] as const),
  );
}

function refuse(guard: Guard, { name, names }: GuardedTrace): never {
  throw notSavable(name, `it relies on this: ${printGuard(guard, names)}`);
}
