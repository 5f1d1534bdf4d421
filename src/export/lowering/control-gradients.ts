import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import {
  type Engine,
  elementOf,
  type GradientArithmetic,
  isFloat,
  type RowTables,
  type TargetValue,
} from '../target/target.ts';
import { Frame, type Tape } from './frame.ts';
import { flat, type Gradient, Gradients, paired } from './gradient.ts';
import { Slot } from './slots.ts';
import type { SavedLayout, TapeLayout } from './tape-layout.ts';

export type WriteOps<V extends TargetValue> = (
  program: Pick<Program, 'values'>,
  ops: readonly ProgramOp[],
  frame: Frame<V>,
) => void;

type Type<V extends TargetValue> = Pick<V, 'element' | 'shape'>;

/** Gradients by index: results first, then operands. */
type GradientLookup<V> = (number: number) => Gradient<V> | undefined;

/**
 * Branches and loops that gradients flow through. A branch returns the values that it saves for backward as additional
 * results. The values that an iteration of a loop saves form a row in tables with a fixed number of rows, which
 * backward reads from the last iteration to the first; tables of an inner loop are rows of the outer loop's tables. A
 * loop with more iterations than rows computes its results, but NaN for all of its gradients.
 */
export class ControlGradients<V extends TargetValue> {
  readonly #engine: Engine<V>;
  readonly #arithmetic: GradientArithmetic<V>;
  readonly #gradients: Gradients<V>;
  readonly #write: WriteOps<V>;

  constructor(engine: Engine<V>, arithmetic: GradientArithmetic<V>, write: WriteOps<V>) {
    this.#engine = engine;
    this.#arithmetic = arithmetic;
    this.#gradients = new Gradients(engine, arithmetic);
    this.#write = write;
  }

  /** Returns the values of a region's layout that a run saved. */
  saved({ values, tapes }: SavedLayout, frame: Frame<V>): V[] {
    const own = values.map((id) => frame.slot(id).read());
    return [...own, ...[...tapes.keys()].flatMap((id) => frame.tapes.get(id)!.values)];
  }

  /** Returns zeros in place of a region's values, for the branch that doesn't run. */
  unsaved(layout: SavedLayout): V[] {
    return this.#savedTypes(layout).map((type) => this.#arithmetic.filled(type, 0));
  }

  /** Returns empty tables with a row per iteration. */
  emptyTables(layout: SavedLayout, { count }: RowTables<V>): V[] {
    return this.#savedTypes(layout).map((type) => this.#arithmetic.filled(tableOf(type, count), 0));
  }

  #savedTypes({ program, values, tapes }: SavedLayout): Type<V>[] {
    const types = values.map((id) => this.#typeOf(program, id));
    return [...types, ...[...tapes.values()].flatMap((tape) => this.#tapeTypes(tape))];
  }

  #tapeTypes({ op, regions }: TapeLayout): Type<V>[] {
    const scalar = [] as readonly unknown[] as V['shape'];
    const saved = regions.flatMap((region) => (region ? this.#savedTypes(region) : []));
    if (op.op !== whileOp) return [{ element: 'i1', shape: scalar }, ...saved];
    const { count } = this.#engine.rows!;
    return [{ element: 'i32', shape: scalar }, ...saved.map((type) => tableOf(type, count))];
  }

  /**
   * Returns the gradients of the operands `to` of a branch. `slots`: gradients of its results, by index, followed by
   * the partial sums of the branches' operands.
   */
  ofBranch(tape: Tape<V>, slots: ReadonlyMap<number, Slot<V>>, to: readonly number[]): Slot<V>[] {
    const { layout, values } = tape;
    const [condition, ...saved] = values;
    const { program } = layout.op.regions![0]!;
    const count = program.outputs.length;
    const starts = to.map((operand) => {
      const slot = slots.get(count + operand - layout.first);
      if (slot) return this.#gradients.of(slot);
      return this.#gradients.missing(
        this.#typeOf(program, program.inputs[operand - layout.first]!),
      );
    });
    let from = 0;
    const branches = layout.regions.map((region) => {
      const length = region ? this.#savedTypes(region).length : 0;
      const slice = saved.slice(from, from + length);
      from += length;
      return () => {
        if (!region) return flat(starts);
        const sums = new Map(to.map((operand, k) => [operand - layout.first, starts[k]!]));
        const found = this.#backwardOf(region, slice, tape, (number) => {
          if (number >= count) return taken(sums, number - count);
          const slot = slots.get(number);
          return slot && this.#gradients.of(slot);
        });
        return flat(
          to.map((operand) => {
            const sum = sums.get(operand - layout.first);
            const gradient = found[operand - layout.first];
            if (sum && gradient) return this.#gradients.sum(sum, gradient);
            const type = this.#typeOf(program, program.inputs[operand - layout.first]!);
            return sum ?? gradient ?? this.#gradients.missing(type);
          }),
        );
      };
    });
    const ends = paired(this.#engine.branch(condition!, branches));
    return ends.map(({ value, exists }) => Slot.of(this.#engine, value, exists));
  }

  /** Returns the gradients of a loop, whose operands are those of its body. */
  ofLoop(
    tape: Tape<V>,
    slots: ReadonlyMap<number, Slot<V>>,
    to: readonly number[],
    { count: most, read }: RowTables<V>,
  ): Slot<V>[] {
    const engine = this.#engine;
    const [iterations, ...tables] = tape.values as [V, ...V[]];
    const [body] = tape.layout.regions;
    const { program } = tape.layout.op.regions!.at(-1)!;
    const count = program.outputs.length;
    const missing = (operand: number) =>
      this.#gradients.missing(this.#typeOf(program, program.inputs[operand]!));
    const startOf = (operand: number, number: number): Gradient<V> => {
      const slot = slots.get(number);
      return slot ? this.#gradients.of(slot) : missing(operand);
    };
    // Gradients of loop-carried values, then sums for the operands.
    const carried = program.inputs.flatMap((id, i) =>
      i < count && isFloat(elementOf[program.values[id]!.dtype]) ? [i] : [],
    );
    const starts = [
      ...carried.map((i) => startOf(i, i)),
      ...to.map((operand) => startOf(operand, count + operand)),
    ];
    const one = engine.constant(1, 'i32');
    const rows = engine.constant(most, 'i32');
    const last = engine.binary('subtract', engine.binary('minimum', iterations, rows), one);
    const iteration = (number: V, all: readonly Gradient<V>[]): Gradient<V>[] => {
      if (!body) return [...all];
      const after = new Map(carried.map((i, k) => [i, all[k]!] as const));
      const sums = new Map(to.map((i, k) => [i, all[carried.length + k]!] as const));
      const saved = tables.map((table) => read(table, number));
      const found = this.#backwardOf(body, saved, tape, (result) => {
        if (result < count) return after.get(result);
        const operand = result - count;
        const sum = sums.get(operand);
        if (!sum || operand >= count) return taken(sums, operand);
        // The sum for a carried value belongs to the loop's start, which only the first iteration reads.
        const isFirst = engine.compare('EQ', number, engine.constant(0, 'i32'));
        sums.set(operand, this.#gradients.chosen(isFirst, missing(operand), sum));
        return this.#gradients.chosen(isFirst, sum, missing(operand));
      });
      return [
        ...carried.map((i) => found[i] ?? missing(i)),
        ...to.map((operand) => {
          const sum = sums.get(operand);
          // Gradients of carried values go to the previous iteration.
          const gradient = operand < count ? null : found[operand];
          if (sum && gradient) return this.#gradients.sum(sum, gradient);
          return sum ?? gradient ?? missing(operand);
        }),
      ];
    };
    const [, ...ends] = engine.loop(
      [last, ...flat(starts)],
      ([number]) => engine.compare('GE', number!, engine.constant(0, 'i32')),
      (values) => {
        const [number, ...gradients] = values as [V, ...V[]];
        const before = iteration(number, paired(gradients));
        return [engine.binary('subtract', number, one), ...flat(before)];
      },
    );
    const end = paired(ends);
    const fits = engine.compare('LE', iterations, rows);
    return to.map((operand, k) => {
      const sum = end[carried.length + k]!;
      const position = carried.indexOf(operand);
      const { value, exists } = position < 0 ? sum : this.#gradients.sum(sum, end[position]!);
      const unknown = this.#arithmetic.filled(value, Number.NaN);
      return Slot.of(engine, engine.select(fits, value, unknown), exists);
    });
  }

  /** Lowers the backward of one run of a region: gradients of its inputs, null if none is computed. */
  #backwardOf(
    layout: SavedLayout,
    saved: readonly V[],
    { layout: { first }, operands }: Tape<V>,
    gradientOf: GradientLookup<V>,
  ): (Gradient<V> | null)[] {
    const { program, part, shared } = layout;
    const engine = this.#engine;
    const frame = new Frame<V>();
    for (const id of shared) {
      frame.slots.set(id, Slot.of(engine, operands.get(first + program.inputs.indexOf(id))!));
    }
    this.#restore(layout, saved, frame);
    const unused = new Set(part.plan.unusedInputs);
    part.gradOutputs.forEach((id, number) => {
      if (id === null || unused.has(id)) return;
      const found = gradientOf(number) ?? this.#gradients.missing(this.#typeOf(program, id));
      frame.slots.set(id, Slot.of(engine, found.value, found.exists));
    });
    const ops = part.plan.steps.map(({ op }) => op);
    this.#write(program, ops, frame);
    return part.gradInputs.map((id) => (id === null ? null : this.#gradients.of(frame.slot(id))));
  }

  /** Restores the values that a run saved, views of its operands, and the tapes of inner branches and loops. */
  #restore({ program, values, tapes, views }: SavedLayout, saved: readonly V[], frame: Frame<V>) {
    let next = 0;
    for (const id of values) frame.slots.set(id, Slot.of(this.#engine, saved[next++]!));
    this.#write(program, views, frame);
    for (const [id, layout] of tapes) {
      const { length } = this.#tapeTypes(layout);
      const operands = [...layout.operands].map(
        (number) => [number, frame.slot(layout.op.inputs[number]!).read()] as const,
      );
      const slice = saved.slice(next, next + length);
      frame.tapes.set(id, { layout, values: slice, operands: new Map(operands) });
      next += length;
    }
  }

  #typeOf(program: Pick<Program, 'values'>, id: ValueId): Type<V> {
    const element = elementOf[program.values[id]!.dtype];
    return { element, shape: this.#engine.shapeOf(program, id) };
  }
}

const tableOf = <V extends TargetValue>({ element, shape }: Type<V>, count: number): Type<V> => ({
  element,
  shape: [count, ...shape] as V['shape'],
});

/** Returns the sum for an operand, from which the region continues. */
function taken<V>(sums: Map<number, Gradient<V>>, operand: number): Gradient<V> | undefined {
  const sum = sums.get(operand);
  sums.delete(operand);
  return sum;
}
