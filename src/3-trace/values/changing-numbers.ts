import { RecordedWriteInPlace } from '../../../runtime/program/recorded-write.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { numberSources } from '../../guards/number-expr.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { constantOf } from '../state/facts.ts';
import { expectNoCall, guardNumbers } from '../state/symbolic-guards.ts';
import { type Perform, PutOff, resolve, type Stand } from '../state/tape.ts';
import type { Tracer } from '../state/tracer.ts';
import type { SymbolicVariable } from '../variables/variable.ts';

/** A tensor API function's use of numbers. */
export interface NumberUse {
  /**
   * `no`: it gets their values. `tried`: it may hand them on to attributes of ops, which is found out by
   * calling it. `yes`: it passes them on.
   */
  readonly symbols: 'no' | 'tried' | 'yes';
  /** Numbers in a list are sizes, whose values it asks for. */
  readonly sizesInArrays: boolean;
}

/**
 * The symbolic numbers among the operands of one call of the tensor API. Those that the call passes on to
 * attributes of ops stay symbolic: a run computes them. Those whose value it asks for are plain.
 */
export class ChangingNumbers {
  readonly #t: Tracer;
  readonly #use: NumberUse;
  /** Symbolic as far as is known. */
  readonly #open = new Map<PutOff, SymbolicVariable>();
  /** Plain after all. */
  readonly #specialized = new Map<PutOff, unknown>();

  constructor(t: Tracer, use: NumberUse) {
    this.#t = t;
    this.#use = use;
  }

  /** `inArray`: one of several, such as the sizes of a shape. */
  operand(variable: SymbolicVariable, inArray: boolean): unknown {
    const { expr, value } = variable;
    const { sizes, numbers } = this.#t;
    if (typeof value === 'boolean') return constantOf(this.#t, variable);
    const { symbols, sizesInArrays } = this.#use;
    const maySymbol = symbols !== 'no' && !(inArray && sizesInArrays);
    if (sizes.decide(expr) || !maySymbol || numbers.attribute(expr) === undefined) {
      return this.#plain(variable);
    }
    const operand = new PutOff(expr);
    this.#open.set(operand, variable);
    return operand;
  }

  /** The call with these operands, recorded on the tape. */
  perform(given: readonly unknown[], body: Perform): unknown {
    const t = this.#t;
    let operands = given;
    while (this.#use.symbols === 'tried' && this.#open.size > 0) {
      const asked = this.#askedFor(operands, body);
      if (asked.length === 0) break;
      for (const operand of asked) {
        const variable = this.#open.get(operand)!;
        this.#open.delete(operand);
        this.#specialized.set(operand, this.#plain(variable));
      }
      operands = operands.map((operand) => replaced(operand, this.#specialized));
    }
    for (const variable of this.#open.values()) guardNumbers(t, variable);
    return t.perform(operands, body);
  }

  /** Its value, for this program: a key of the programs of this trace, which is played again for another value. */
  #plain(variable: SymbolicVariable): unknown {
    const t = this.#t;
    const { expr } = variable;
    expectNoCall(t, expr);
    for (const source of t.sizes.decide(expr) ? [] : numberSources(expr)) t.sizes.addKey(source);
    guardNumbers(t, variable);
    return new PutOff(expr);
  }

  /**
   * The open operands whose value the call asks for. Throws what it throws for their values: then the
   * comparisons that led there are what the trace depends on.
   */
  #askedFor(operands: readonly unknown[], body: Perform): readonly PutOff[] {
    const { numbers, sizes } = this.#t;
    const { scalars } = numbers;
    const before = scalars.dependencies();
    const open = [...this.#open.keys()];
    const error = this.#failure(operands, body, (operand) => numbers.operand(sizes, operand.expr));
    const asked = [...scalars.needed].filter((id) => !before.needed.includes(id));
    if (asked.length === 0 && (error === undefined || isOfTrace(error))) return [];
    const after = scalars.dependencies();
    scalars.dependOn(before);
    if (asked.length > 0) {
      const reached = open.filter((operand) => {
        const own = numbers.operand(sizes, operand.expr);
        return typeof own !== 'number' && asked.some((id) => scalars.isFrom(id, own.id));
      });
      return reached.length > 0 ? reached : open;
    }
    // It may have rejected a symbol for not being a number.
    const refusal = this.#failure(operands, body, (operand) => numbers.value(operand.expr));
    if (refusal === undefined) return open;
    scalars.dependOn(after);
    throw refusal;
  }

  /** Returns the error that the call throws; the call leaves no trace. */
  #failure(
    operands: readonly unknown[],
    body: Perform,
    number: (operand: PutOff) => unknown,
  ): unknown {
    const t = this.#t;
    const numbers = new Map([...this.#open.keys()].map((operand) => [operand, number(operand)]));
    const stand: Stand = {
      tensor: (tensor) => {
        // What comes into a branch or loop from around it stays an operand of that.
        t.builder.valueOf(tensor);
        return tensor;
      },
      number: (expr) => t.numbers.operand(t.sizes, expr) as number,
      tensors: ({ recorded }) => recorded,
    };
    const given = operands.map((operand) => resolve(replaced(operand, numbers), stand));
    return t.tried(() => body(given, t.builder));
  }
}

/** Whether the error comes from the trace itself, whatever the numbers are. */
function isOfTrace(error: unknown): boolean {
  return error instanceof GraphBreak || error instanceof RecordedWriteInPlace;
}

function replaced(value: unknown, by: ReadonlyMap<PutOff, unknown>): unknown {
  if (value instanceof PutOff) return by.has(value) ? by.get(value) : value;
  if (value instanceof Tensor || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, by));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, replaced(item, by)]));
}
