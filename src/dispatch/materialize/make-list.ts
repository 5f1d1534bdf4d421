/** Builds arrays of data-dependent length from lists that a program returns. */

import { defineData } from '../../../runtime/entry/make.ts';
import { assertNever, invariant } from '../../../runtime/errors/invariant.ts';
import { knownTensor } from '../../../runtime/run-program/known-tensors.ts';
import { takeItems, takeNumber } from '../../../runtime/run-program/list-items.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { ElementRecipe, Make } from '../../traces/trace-result.ts';
import { append } from '../../vm/language/primordials.ts';
import { compileRecipe, type RunValues } from './materialize.ts';

/** For one leaf, the tensors of the lists, element by element. */
type Columns = readonly (readonly Tensor[])[];

/** Reads the element at an index; `from` is the index of its first column. */
type ElementReader = (columns: Columns, from: number, row: number, values: RunValues) => unknown;

interface CompiledElement {
  /** The number of columns per element. */
  readonly count: number;
  readonly read: ElementReader;
}

export function compileList({ outputs, element }: Make & { kind: 'list' }): {
  readonly empty: () => unknown[];
  readonly fill: (target: unknown, values: RunValues) => void;
} {
  const { read } = compileElement(element);
  return {
    empty: () => [],
    fill: (target, values) => {
      const columns = outputs.map((output) => takeItems(values.outputs[output]!));
      fillArray(target as unknown[], columns, read, values);
    },
  };
}

function fillArray(
  array: unknown[],
  columns: Columns,
  read: ElementReader,
  values: RunValues,
): unknown[] {
  const [first] = columns;
  invariant(first, 'an array of any length has a list');
  for (const row of first.keys()) append(array, read(columns, 0, row, values));
  return array;
}

function compileElement(element: ElementRecipe): CompiledElement {
  switch (element.kind) {
    case 'leaf': {
      const { of } = element;
      return {
        count: 1,
        read: (columns, from, row, values) => {
          const item = columns[from]![row]!;
          return of === 'tensor' ? knownTensor(item, values) : takeNumber(item, of);
        },
      };
    }
    case 'same': {
      const value = compileRecipe(element.value);
      return { count: 0, read: (_columns, _from, _place, values) => value(values) };
    }
    case 'array': {
      const { count, read } = compileParts(element.parts);
      return { count, read };
    }
    case 'object': {
      const { count, read } = compileParts(element.entries.map(([, part]) => part));
      const keys = element.entries.map(([key]) => key);
      const { prototype } = element;
      const above = prototype ? compileRecipe(prototype) : () => prototype;
      return {
        count,
        read: (columns, from, row, values) => {
          const parts = read(columns, from, row, values);
          const under = above(values) as object | null | undefined;
          const object: object = under === undefined ? {} : Object.create(under);
          for (const [i, key] of keys.entries()) defineData(object, key, parts[i]);
          return object;
        },
      };
    }
    case 'list': {
      const { count, read } = compileElement(element.of);
      return {
        // The last column is the length, which the other columns share.
        count: count + 1,
        read: (columns, from, row, values) => {
          const inner = columns.slice(from, from + count).map((column) => takeItems(column[row]!));
          columns[from + count]![row]!.dispose();
          return fillArray([], inner, read, values);
        },
      };
    }
    default:
      return assertNever(element, 'element');
  }
}

function compileParts(parts: readonly ElementRecipe[]): {
  readonly count: number;
  readonly read: (...at: Parameters<ElementReader>) => unknown[];
} {
  const compiled = parts.map(compileElement);
  let count = 0;
  const readers = compiled.map(({ count: own, read }) => {
    const offset = count;
    count += own;
    return { offset, read };
  });
  return {
    count,
    read: (columns, from, row, values) =>
      readers.map(({ offset, read }) => read(columns, from + offset, row, values)),
  };
}
