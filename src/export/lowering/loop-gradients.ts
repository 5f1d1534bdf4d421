import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { Slot } from './slots.ts';
import { type Engine, elementOf, isFloat, type RowTables, type TargetValue } from './target.ts';

/** Values of a program by their number, while it is written. */
export type Slots<V extends TargetValue, A> = Map<ValueId, Slot<V, A>>;

/** What a loop has kept for its backward: a row for each iteration. */
export interface LoopTape<V> {
  readonly body: Program;
  readonly part: BackwardPart;
  /** How many iterations there were, i32 []. */
  readonly iterations: V;
  /** What all iterations read, by the number in the body. */
  readonly captured: ReadonlyMap<ValueId, V>;
  /** Views of it, which backward makes again. */
  readonly views: readonly ProgramOp[];
  readonly tables: ReadonlyMap<ValueId, V>;
}

/** A gradient that may not exist: zeros and false then. */
interface Gradient<V> {
  readonly value: V;
  /** Truth value []. */
  readonly exists: V;
}

type WriteOps<V extends TargetValue, A> = (
  program: Pick<Program, 'values'>,
  ops: readonly ProgramOp[],
  slots: Slots<V, A>,
) => void;

/**
 * Loops that gradients flow through. The saved values of an iteration become a row of tables with a fixed number of rows,
 * which backward reads from the last iteration to the first. A loop that makes more iterations than there are rows
 * computes its results, and NaN as all of its gradients.
 */
export class LoopGradients<V extends TargetValue, A> {
  readonly #engine: Engine<V, A>;
  readonly #rows: RowTables<V>;
  readonly #write: WriteOps<V, A>;

  constructor(engine: Engine<V, A>, rows: RowTables<V>, write: WriteOps<V, A>) {
    this.#engine = engine;
    this.#rows = rows;
    this.#write = write;
  }

  /** The loop, and its tape. `test` and the body read `captured` besides what is carried. */
  forward(
    [test, body]: readonly [Program, Program],
    part: BackwardPart,
    operands: readonly V[],
  ): { readonly results: readonly V[]; readonly tape: LoopTape<V> } {
    const engine = this.#engine;
    const count = body.outputs.length;
    const captured = operands.slice(count);
    const shared = new Map(captured.map((value, i) => [body.inputs[count + i]!, value] as const));
    const views = viewsOf(body, shared.keys());
    const seen = new Set(views.flatMap(({ outputs }) => outputs));
    const saved = part.saved.withData.filter((id) => !shared.has(id) && !seen.has(id));
    const empty = saved.map((id) => this.#rows.empty(this.#typeOf(body, id)));
    const enter = (program: Program, carried: readonly V[]): Slots<V, A> => {
      const slots: Slots<V, A> = new Map();
      [...carried.slice(0, count), ...captured].forEach((value, i) => {
        slots.set(program.inputs[i]!, Slot.of(engine, value));
      });
      this.#write(program, program.ops, slots);
      return slots;
    };
    const start = [...operands.slice(0, count), engine.constant(0, 'i32'), ...empty];
    const end = engine.loop(
      start,
      (carried) => enter(test, carried).get(test.outputs[0]!)!.read(),
      (carried) => {
        const slots = enter(body, carried);
        const number = carried[count]!;
        const rows = saved.map((id, i) =>
          this.#rows.write(carried[count + 1 + i]!, slots.get(id)!.read(), number),
        );
        const results = body.outputs.map((id) => slots.get(id)!.read());
        return [...results, engine.binary('add', number, engine.constant(1, 'i32')), ...rows];
      },
    );
    const filled = saved.map((id, i) => [id, end[count + 1 + i]!] as const);
    const iterations = end[count]!;
    const tables = new Map(filled);
    const tape = { body, part, iterations, captured: shared, views, tables };
    return { results: end.slice(0, count), tape };
  }

  /**
   * Gradients of the operands `to`. `given`: of the loop's results, by their number, and from the number of results on what has
   * come to an operand so far.
   */
  backward(
    tape: LoopTape<V>,
    given: ReadonlyMap<number, Slot<V, A>>,
    to: readonly number[],
  ): Slot<V, A>[] {
    const { body, iterations } = tape;
    const engine = this.#engine;
    const count = body.outputs.length;
    const floating = body.inputs.flatMap((id, i) =>
      isFloat(elementOf[body.values[id]!.dtype]) ? [i] : [],
    );
    // Gradients of what is carried, then sums for the operands.
    const carried = floating.filter((i) => i < count);
    const startOf = (operand: number, number: number): Gradient<V> => {
      const slot = given.get(number);
      if (!slot) return this.#missing(body, operand);
      return { value: slot.read(), exists: slot.exists ?? this.#truth(1) };
    };
    const starts = [
      ...carried.map((i) => startOf(i, i)),
      ...to.map((operand) => startOf(operand, count + operand)),
    ];
    const one = engine.constant(1, 'i32');
    const rows = engine.constant(this.#rows.count, 'i32');
    const last = engine.binary('subtract', engine.binary('minimum', iterations, rows), one);
    const flat = (gradients: readonly Gradient<V>[]) =>
      gradients.flatMap(({ value, exists }) => [value, exists]);
    const paired = ([, ...values]: readonly V[]) =>
      starts.map((_, i) => ({ value: values[2 * i]!, exists: values[2 * i + 1]! }));
    const end = paired(
      engine.loop(
        [last, ...flat(starts)],
        ([number]) => engine.compare('GE', number!, engine.constant(0, 'i32')),
        (values) => {
          const [number] = values as [V];
          const all = paired(values);
          const after = new Map(carried.map((i, k) => [i, all[k]!] as const));
          const sums = new Map(to.map((i, k) => [i, all[carried.length + k]!] as const));
          this.#iteration(tape, number, after, sums);
          const before = [
            ...carried.map((i) => after.get(i)!),
            ...to.map((operand) => sums.get(operand)!),
          ];
          return [engine.binary('subtract', number, one), ...flat(before)];
        },
      ),
    );
    const fits = engine.compare('LE', iterations, rows);
    return to.map((operand, k) => {
      const sum = end[carried.length + k]!;
      const own = carried.indexOf(operand);
      const { value, exists } = own < 0 ? sum : this.#sum(sum, end[own]!);
      const unknown = this.#rows.filled(value, Number.NaN);
      return Slot.of(engine, engine.select(fits, value, unknown), exists);
    });
  }

  /** Undoes one iteration: `after`, the gradients of what it has made, become those of what it was given. */
  #iteration(
    { body, part, captured, views, tables }: LoopTape<V>,
    number: V,
    after: Map<number, Gradient<V>>,
    sums: Map<number, Gradient<V>>,
  ): void {
    const engine = this.#engine;
    const count = body.outputs.length;
    const slots: Slots<V, A> = new Map();
    for (const [id, value] of captured) slots.set(id, Slot.of(engine, value));
    for (const [id, table] of tables) {
      slots.set(id, Slot.of(engine, this.#rows.read(table, number)));
    }
    this.#write(body, views, slots);
    const unused = new Set(part.plan.unusedInputs);
    part.gradOutputs.forEach((id, i) => {
      if (id === null) return;
      let gradient = i < count ? after.get(i) : undefined;
      const operand = i - count;
      const sum = operand < 0 ? undefined : sums.get(operand);
      if (sum && !unused.has(id)) {
        gradient = sum;
        const none = this.#missing(body, operand);
        // The region adds its own to the sum. That of a carried value is the loop's in the first iteration alone.
        if (operand < count) {
          const isFirst = engine.compare('EQ', number, engine.constant(0, 'i32'));
          gradient = this.#chosen(isFirst, sum, none);
          sums.set(operand, this.#chosen(isFirst, none, sum));
        } else sums.set(operand, none);
      }
      const { value, exists } = gradient ?? this.#missingOf(body, id);
      slots.set(id, Slot.of(engine, value, exists));
    });
    this.#write(
      body,
      part.plan.steps.map(({ op }) => op),
      slots,
    );
    const found = part.gradInputs.map((id) => (id === null ? null : slots.get(id)!));
    for (const operand of [...after.keys(), ...sums.keys()]) {
      const slot = found[operand];
      const gradient: Gradient<V> = slot
        ? { value: slot.read(), exists: slot.exists ?? this.#truth(1) }
        : this.#missing(body, operand);
      if (after.has(operand)) after.set(operand, gradient);
      else sums.set(operand, this.#sum(sums.get(operand)!, gradient));
    }
  }

  #sum(x: Gradient<V>, y: Gradient<V>): Gradient<V> {
    const value = this.#engine.binary('add', x.value, y.value);
    return { value, exists: this.#rows.or(x.exists, y.exists) };
  }

  #chosen(test: V, x: Gradient<V>, y: Gradient<V>): Gradient<V> {
    return {
      value: this.#engine.select(test, x.value, y.value),
      exists: this.#engine.select(test, x.exists, y.exists),
    };
  }

  #missing(body: Program, operand: number): Gradient<V> {
    return this.#missingOf(body, body.inputs[operand]!);
  }

  #missingOf(body: Program, id: ValueId): Gradient<V> {
    return { value: this.#rows.filled(this.#typeOf(body, id), 0), exists: this.#truth(0) };
  }

  #typeOf(program: Program, id: ValueId): Pick<V, 'element' | 'shape'> {
    const element = elementOf[program.values[id]!.dtype];
    return { element, shape: this.#engine.shapeOf(program, id) };
  }

  readonly #truth = (value: 0 | 1): V => this.#engine.constant(value, 'i1');
}

/** The ops of a program that make views of these values, and views of such views. */
function viewsOf(program: Program, of: Iterable<ValueId>): ProgramOp[] {
  const seen = new Set(of);
  return unfusedOps(program.ops).filter(({ op, inputs, outputs }) => {
    if (op.kernel.kind !== 'view' || !seen.has(inputs[0]!)) return false;
    for (const id of outputs) seen.add(id);
    return true;
  });
}
