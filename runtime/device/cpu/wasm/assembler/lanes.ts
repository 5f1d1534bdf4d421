import type { DoubleFunction } from '../../core/double-functions.ts';
import type { imported } from '../../core/imported.ts';
import { type Code, callCode, lane } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { doubleIndex, importedIndex } from './module-builder.ts';

/** Calls a JavaScript function for each lane in turn: slow, but correct for every value. */
export function byLane(
  f: FunctionBuilder,
  fn: keyof typeof imported,
  ...operands: readonly Local[]
): Code {
  const shape = fn.startsWith('int') ? 'i32x4' : 'f32x4';
  const result = f.local('v128');
  f.imports.add(fn);
  for (let i = 0; i < 4; i++) {
    const elements = operands.map((x) => lane(`${shape}.extract_lane`, i, get(x)));
    const value = callCode(importedIndex[fn], ...elements);
    f.set(result, lane(`${shape}.replace_lane`, i, get(result), value));
  }
  return get(result);
}

/** Calls a JavaScript function for each of the two float64 lanes. */
export function byDoubleLane(
  f: FunctionBuilder,
  fn: DoubleFunction,
  ...operands: readonly Local[]
): Code {
  const result = f.local('v128');
  f.imports.add(`${fn}64`);
  for (let i = 0; i < 2; i++) {
    const elements = operands.map((x) => lane('f64x2.extract_lane', i, get(x)));
    const value = callCode(doubleIndex(fn), ...elements);
    f.set(result, lane('f64x2.replace_lane', i, get(result), value));
  }
  return get(result);
}
