/** Reads a program's JavaScript numbers, and attributes that may be such numbers (`graph-format.ts` writes them). */

import type { Attrs, AttrValue } from '../device/kernel-op.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import {
  type ScalarId,
  type ScalarNode,
  ScalarTable,
  SymbolicNumber,
} from '../ops/numbers/symbolic-number.ts';
import { type Field, maxScalarArguments } from './file/field.ts';
import { readNumber, readPrimitive } from './primitive.ts';

/** Reads numbers that refer only to earlier ones, with inputs in order. Throws DataError for others. */
export function readScalars(field: Field): ScalarTable {
  let inputs = 0;
  const known = field.items().map((item, id): readonly [ScalarNode, number] => {
    if (item.has('constant')) {
      const value = readNumber(item.get('constant'));
      return [{ kind: 'constant', value }, value];
    }
    const value = readNumber(item.get('value'));
    if (item.has('input')) {
      const index = item.get('input').int(inputs, inputs);
      inputs++;
      return [{ kind: 'input', index }, value];
    }
    const fn = item.get('fn').oneOf([...scalarFunctions.keys()]);
    const args = item
      .get('args')
      .items(maxScalarArguments)
      .map((arg) => arg.int(0, id - 1) as ScalarId);
    return [{ kind: 'apply', fn, args }, value];
  });
  return ScalarTable.of(known);
}

/** Reads attributes of an op; `changing`: names of those that runs may compute. Throws DataError. */
export type ReadAttrs = (field: Field, changing: Pick<ReadonlySet<string>, 'has'>) => Attrs;

/** Returns a reader of the attributes in a program with these numbers. */
export function attrReader(scalars: ScalarTable | null): ReadAttrs {
  // One object per scalar, so that attributes with the same scalar are equal.
  const symbols = new Map<ScalarId, SymbolicNumber>();

  const symbolOf = (field: Field): SymbolicNumber => {
    if (!scalars) return field.fail('a graph with JavaScript numbers');
    const id = field.get('scalar').int(0, scalars.nodes.length - 1) as ScalarId;
    const symbol = symbols.get(id) ?? new SymbolicNumber(scalars, id);
    symbols.set(id, symbol);
    return symbol;
  };

  const attrOf = (field: Field, mayChange: boolean): AttrValue => {
    if (Array.isArray(field.value)) {
      return field
        .items()
        .map((item) =>
          mayChange && item.has('scalar') ? symbolOf(item) : readNumber(item),
        ) as readonly number[];
    }
    if (field.has('scalar')) {
      if (!mayChange) field.fail('a number that is the same in each run');
      return symbolOf(field);
    }
    const value = readPrimitive(field);
    const known = typeof value === 'bigint' ? null : value;
    return known ?? field.fail('a number, a text, true or false');
  };

  return (field, changing) =>
    Object.fromEntries(
      field.entries().map(([name, value]) => [name, attrOf(value, changing.has(name))]),
    );
}
