import { RecordedWriteInPlace } from '../../../runtime/program/recorded-write.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { numberSources } from '../../guards/number-expr.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { decideChoices, dependsOnBoolean } from '../control-flow/numbers/changing-booleans.ts';
import { dependsOnRow, sourcesBesideRow } from '../inputs/row-index.ts';
import { expectNoCall, guardNumbers, indexNeeded } from '../state/symbolic-guards.ts';
import { DeferredNumber, type OperandResolver, type Perform, resolve } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import type { SymbolicVariable } from '../variables/variable.ts';

/** How a tensor API function uses numbers. */
export interface NumberUse {
  /**
   * `no`: it needs the numbers' values. `tried`: it may forward them to op attributes; a trial call decides. `yes`: it
   * forwards them.
   */
  readonly symbols: 'no' | 'tried' | 'yes';
  /** True if numbers in a list are sizes, whose values the function needs. */
  readonly sizesInArrays: boolean;
}

/**
 * The symbolic numbers among the operands of a tensor API call. Numbers that the call forwards to op attributes remain
 * symbolic and are computed by each run. Numbers whose values it needs become plain.
 */
export class ChangingNumbers {
  readonly #t: Tracer;
  readonly #use: NumberUse;
  /** Operands that are still symbolic. */
  readonly #open = new Map<DeferredNumber, SymbolicVariable>();
  /** Operands that turned out to be plain. */
  readonly #specialized = new Map<DeferredNumber, unknown>();

  constructor(t: Tracer, use: NumberUse) {
    this.#t = t;
    this.#use = use;
  }

  /** `inArray`: the number is an array element, such as a size in a shape. */
  operand(variable: SymbolicVariable, inArray: boolean): unknown {
    const { expr, value } = variable;
    const { sizes, numbers } = this.#t;
    if (typeof value === 'boolean') return constantOf(this.#t, variable);
    const besideRow = sourcesBesideRow(expr);
    if (besideRow) {
      for (const source of besideRow) sizes.addKey(source);
      return new DeferredNumber(expr);
    }
    const { symbols, sizesInArrays } = this.#use;
    const maySymbol = symbols !== 'no' && !(inArray && sizesInArrays);
    if (sizes.decide(expr) || !maySymbol || numbers.attribute(expr) === undefined) {
      return this.#plain(variable);
    }
    const operand = new DeferredNumber(expr);
    this.#open.set(operand, variable);
    return operand;
  }

  /** Performs the call with these operands and records it on the tape. */
  perform(values: readonly unknown[], body: Perform): unknown {
    const t = this.#t;
    let operands = values;
    while (this.#use.symbols === 'tried' && this.#open.size > 0) {
      const needed = this.#neededBy(operands, body);
      if (needed.length === 0) break;
      for (const operand of needed) {
        const variable = this.#open.get(operand)!;
        this.#open.delete(operand);
        this.#specialized.set(operand, this.#plain(variable));
      }
      operands = operands.map((operand) => replaced(operand, this.#specialized));
    }
    for (const variable of this.#open.values()) guardNumbers(t, variable);
    return t.perform(operands, body);
  }

  /**
   * Returns the number's value for this program. The value becomes a key of the trace's programs: the trace is
   * replayed for other values.
   */
  #plain(variable: SymbolicVariable): unknown {
    const t = this.#t;
    expectNoCall(t, variable.expr);
    if (dependsOnRow(variable.expr)) throw indexNeeded();
    // A program for each combination of booleans would be too many where few combinations differ in the number.
    if (dependsOnBoolean(t, variable.expr)) return constantOf(t, variable);
    const expr = decideChoices(t, variable.expr);
    for (const source of t.sizes.decide(expr) ? [] : numberSources(expr)) t.sizes.addKey(source);
    guardNumbers(t, variable);
    return new DeferredNumber(expr);
  }

  /**
   * Returns the open operands whose values the call needs. If the call throws for these values, throws its error; the
   * trace then depends on the comparisons that led there.
   */
  #neededBy(operands: readonly unknown[], body: Perform): readonly DeferredNumber[] {
    const { numbers, sizes } = this.#t;
    const { scalars } = numbers;
    const before = scalars.dependencies();
    const open = [...this.#open.keys()];
    const error = this.#failure(operands, body, (operand) => numbers.operand(sizes, operand.expr));
    const ids = [...scalars.needed].filter((id) => !before.needed.includes(id));
    if (ids.length === 0 && (error === undefined || isOfTrace(error))) return [];
    const after = scalars.dependencies();
    scalars.dependOn(before);
    if (ids.length > 0) {
      const reached = open.filter((operand) => {
        const own = numbers.operand(sizes, operand.expr);
        return typeof own !== 'number' && ids.some((id) => scalars.isFrom(id, own.id));
      });
      return reached.length > 0 ? reached : open;
    }
    // The call may have rejected a symbolic operand only because it isn't a plain number.
    const refusal = this.#failure(operands, body, (operand) => numbers.value(operand.expr));
    if (refusal === undefined) return open;
    scalars.dependOn(after);
    throw refusal;
  }

  /** Returns the error that the call throws. Appends nothing. */
  #failure(
    operands: readonly unknown[],
    body: Perform,
    number: (operand: DeferredNumber) => unknown,
  ): unknown {
    const t = this.#t;
    const numbers = new Map([...this.#open.keys()].map((operand) => [operand, number(operand)]));
    const resolver: OperandResolver = {
      tensor: (tensor) => {
        // In a branch or loop, captures a value of the surrounding program as an operand of the region.
        t.builder.valueOf(tensor);
        return tensor;
      },
      number: (expr) => t.numbers.operand(t.sizes, expr) as number,
      tensors: ({ recorded }) => recorded,
    };
    const values = operands.map((operand) => resolve(replaced(operand, numbers), resolver));
    return t.tried(() => body(values, t.builder));
  }
}

/** Returns whether the error comes from tracing itself, regardless of the numbers. */
function isOfTrace(error: unknown): boolean {
  return error instanceof GraphBreak || error instanceof RecordedWriteInPlace;
}

function replaced(value: unknown, by: ReadonlyMap<DeferredNumber, unknown>): unknown {
  if (value instanceof DeferredNumber) return by.has(value) ? by.get(value) : value;
  if (value instanceof Tensor || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, by));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, replaced(item, by)]));
}
