/**
 * Callbacks of array methods on pre-existing arrays that grow with every call. The callback is traced once; other
 * elements, in this call and in others, repeat its tensor API calls.
 */

import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { OuterTensors } from '../../inputs/outer-tensors.ts';
import { RowWatch } from '../../inputs/row-watch.ts';
import {
  isAlike,
  type OperandResolver,
  playCalls,
  type TapeCall,
  TapeMismatch,
  tensorsIn,
} from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import { truthiness } from '../../state/value-guards.ts';
import { lengthBefore } from '../../values/arrays.ts';
import { deferOperator } from '../../values/numbers.ts';
import { isMadeByElements, manyTensors } from '../../values/varying-array.ts';
import { codeBehind } from '../../variables/code-of.ts';
import { TensorList } from '../../variables/tensor-list.ts';
import { specialized } from '../../variables/unions.ts';
import {
  known,
  type ObjectVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import {
  differently,
  elementAt,
  guardBare,
  orByElement,
  type Rows,
  resolverOf,
  rowsFrom,
  rowsOf,
  type Target,
} from './row-elements.ts';

/** `array.map(callback)`; undefined if the callback is traced for each element. */
export function mapRows(t: Tracer, array: Variable, callback: Variable): Variable | undefined {
  if (isMadeByElements(t) || !takesAtMost(t, callback, 1)) return undefined;
  return orByElement(t, () => {
    const rows = rowsOf(t, array);
    if (!rows) return undefined;
    const { outer, columns, from } = rows;
    if (columns[0]!.recorded.length <= from) return undefined;
    const call = (element: Variable) => called(t, callback, [element]);
    const row = traceRow(t, rows, from, call);
    const isWhole = row.isPlain && from === 0;
    const column = isWhole && columns.find(({ recorded }) => recorded[0] === row.result);
    const tensors = column || mapped(t, rows, row);
    const appended = rows.appended.map(call);
    const count = countFrom(t, outer, from);
    return manyTensors(t, { outer, preceding: [], tensors, count, isCopy: false, appended });
  });
}

/** `array.slice(from)`; undefined if the elements are copied one by one. */
export function sliceRows(t: Tracer, array: Variable, from: number): Variable | undefined {
  if (isMadeByElements(t)) return undefined;
  return orByElement(t, () => {
    const rows = rowsOf(t, array);
    if (rows?.from !== 0 || rows.columns.some(({ path }) => path.length > 0)) return undefined;
    const { outer, appended } = rows;
    const [column] = rows.columns as [OuterTensors];
    const isLonger = deferOperator(t, '>', [lengthBefore(t, outer), known(from)]);
    if (!isLonger || !truthiness(t, isLonger)) return undefined;
    const tensors = new TensorList(column.recorded.slice(from));
    t.record(
      [[column]],
      ([replayed], _builder, replay) => {
        replay!.lists.set(tensors, (replayed as Tensor[]).slice(from));
        return null;
      },
      null,
    );
    const count = countFrom(t, outer, from);
    const rest = { outer, preceding: [], tensors, count, isCopy: false, from };
    return manyTensors(t, { ...rest, appended: [...appended] });
  });
}

/** `array.reduce(callback, initial)`; undefined if the callback is traced for each element. */
export function reduceRows(
  t: Tracer,
  array: Variable,
  callback: Variable,
  initial: Variable | undefined,
): Variable | undefined {
  if (!takesAtMost(t, callback, 2)) return undefined;
  return orByElement(t, () => {
    const rows = rowsOf(t, array);
    const start = (rows?.from ?? 0) + (initial ? 0 : 1);
    // The second element shows what the callback does with its own result.
    if (!rows || rows.columns[0]!.recorded.length < start + 2) return undefined;
    const begin = specialized(initial ?? elementAt(t, rows, rows.from));
    const first = traceRow(t, rows, start, (each) => called(t, callback, [begin, each]));
    const results = first.calls.flatMap(({ result }) => tensorsIn(result));
    if (!results.includes(first.result)) throw differently('returns a tensor that existed before');
    const before = t.result(first.result);
    const next = traceRow(t, rows, start + 1, (each) => called(t, callback, [before, each]));
    const result = reduced(t, rows, start - rows.from, first, next);
    return rows.appended.reduce((all, each) => called(t, callback, [all, each]), result);
  });
}

function called(t: Tracer, callback: Variable, args: readonly Variable[]): Variable {
  return t.execution.callInside(callback, undefinedVariable, args);
}

/** The calls of a callback for one element. */
interface Row {
  /** The element's tensors; the calls are repeated with the tensors of other elements. */
  readonly inputs: readonly Tensor[];
  readonly calls: readonly TapeCall[];
  readonly result: Tensor;
  /** Whether the callback read no property of a tensor. */
  readonly isPlain: boolean;
}

/** Traces a callback for an element. Breaks the graph if it may do something else for another element. */
function traceRow(
  t: Tracer,
  rows: Rows,
  index: number,
  body: (element: Variable) => Variable,
): Row {
  const { builder } = t;
  const { tape } = t.surroundings;
  const [mark, opCount] = [tape.length, builder.opCount];
  const state = () => [t.sizes.reads.length, t.random.count, t.random.reseeded, t.sizes.fixed];
  const before = state();
  const elements = rows.columns.map(({ recorded }) => recorded[index]!);
  const watch = new RowWatch(elements);
  const results: Variable[] = [];
  t.rows = watch;
  try {
    const isPure = t.journal.preservesObjects(() => {
      results.push(specialized(body(elementAt(t, rows, index))));
    });
    const isRepeatable = state().every((each, i) => each === before[i]);
    if (!isPure || !isRepeatable || builder.some(({ regions }) => regions !== undefined, opCount)) {
      throw differently('does more than compute a tensor');
    }
  } finally {
    t.rows = null;
  }
  const [result] = results;
  if (result?.kind !== 'tensor') throw differently('returns something other than a tensor');
  for (const key of watch.members) guardBare(t, rows.columns[0]!, key);
  const calls = tape.splice(mark);
  return {
    inputs: elements,
    calls,
    result: t.use(result),
    isPlain: !watch.isRead && calls.length === 0,
  };
}

/** Returns the number of elements from an index on. */
function countFrom(t: Tracer, outer: ObjectVariable, from: number): Variable {
  const length = lengthBefore(t, outer);
  return from === 0 ? length : deferOperator(t, '-', [length, known(from)])!;
}

/** Repeats the callback's calls for all other elements. */
function mapped(t: Tracer, { columns, from }: Rows, row: Row): TensorList {
  const { resultFor, free } = repeatable(row);
  const others = t.append(() =>
    rowsFrom(
      columns.map(({ recorded }) => recorded),
      from + 1,
    ).map((tensors) => resultFor(tensors, { resolver: t.resolver, builder: t.builder })),
  );
  const list = new TensorList([row.result, ...others]);
  t.record(
    [...columns.map((column) => [column]), free],
    (operands, builder, replay) => {
      const rows = rowsFrom(operands.slice(0, -1) as Tensor[][], from);
      const resolver = resolverOf(replay!);
      replay!.lists.set(
        list,
        rows.map((tensors) => resultFor(tensors, { resolver, builder, replay })),
      );
      return null;
    },
    null,
  );
  return list;
}

/** Repeats the calls for the elements after the ones of `first` and `next`. */
function reduced(
  t: Tracer,
  { columns, from }: Rows,
  start: number,
  first: Row,
  next: Row,
): Variable {
  // Without an initial value, the first element takes its place.
  const begin = start === 0 ? [] : [columns[0]!.recorded[from]!];
  const to = repeatable({ ...first, inputs: [...begin, ...first.inputs] });
  const on = repeatable({ ...next, inputs: [first.result, ...next.inputs] });
  const all = (rows: readonly Tensor[][], so: Tensor, target: Target) =>
    rows.reduce((result, tensors) => on.resultFor([result, ...tensors], target), so);
  const result = t.append(() => {
    const rows = rowsFrom(
      columns.map(({ recorded }) => recorded),
      from + start + 2,
    );
    return all(rows, next.result, { resolver: t.resolver, builder: t.builder });
  });
  t.record(
    [...columns.map((column) => [column]), [...to.free, ...on.free]],
    (operands, builder, replay) => {
      const rows = rowsFrom(operands.slice(0, -1) as Tensor[][], from);
      if (rows.length <= start) throw new TapeMismatch();
      const target = { resolver: resolverOf(replay!), builder, replay };
      const so = to.resultFor(rows.slice(0, start + 1).flat(), target);
      return all(rows.slice(start + 1), so, target);
    },
    result,
  );
  return t.result(result);
}

/** Returns a function that repeats the calls with other tensors, and the additional tensors that it reads. */
function repeatable({ inputs, calls, result }: Omit<Row, 'isPlain'>) {
  const available = new Set([...inputs, ...calls.flatMap((call) => tensorsIn(call.result))]);
  if (!available.has(result)) throw differently('returns the same tensor for each element');
  const all = new Set(calls.flatMap(({ operands }) => tensorsIn(operands)));
  const free = [...all].filter((tensor) => !available.has(tensor));
  const resultFor = (tensors: readonly Tensor[], { resolver, builder, replay }: Target): Tensor => {
    const isLike = (tensor: Tensor, i: number) =>
      isAlike(inputs[i]!, tensor) && inputs[i]!.device === tensor.device;
    if (!tensors.every(isLike)) throw new TapeMismatch();
    const found = new Map(inputs.map((recorded, i) => [recorded, tensors[i]!]));
    const inside: OperandResolver = {
      ...resolver,
      tensor: (recorded) => found.get(recorded) ?? resolver.tensor(recorded),
    };
    const used = new Set([...tensors, ...free.map(resolver.tensor)]);
    playCalls(calls, { resolver: inside, found, used, builder }, replay);
    return found.get(result)!;
  };
  return { resultFor, free };
}

/** Returns whether a function reads only the first `count` arguments. */
function takesAtMost(t: Tracer, callback: Variable, count: number): boolean {
  const code = codeBehind(t.codeOf, callback);
  return (
    code?.instructions.every(({ op, ...rest }) => {
      if (op === 'arg') return (rest as { readonly index: number }).index < count;
      return op !== 'restArgs' && op !== 'arguments';
    }) === true
  );
}
