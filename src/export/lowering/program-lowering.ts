import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { operandUse } from '../../../runtime/ops/core/define-op.ts';
import type { SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { condBackwardOp, whileBackwardOp } from '../../../runtime/program/control-ops.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import type { BackwardPart, Step } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, Region, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/tensor/meta.ts';
import { LoopGradients, type LoopTape, type Slots } from './loop-gradients.ts';
import { existenceOf, ofOptional } from './optional-gradient.ts';
import { scalarCall } from './scalars.ts';
import { Slot } from './slots.ts';
import { type Engine, elementOf, type OpCall, type TargetValue } from './target.ts';

const plainMeta = ({ dtype, shape, device }: TensorMeta) =>
  contiguousMeta({ dtype, shape }, device);

const comparisons = ['<', '<=', '>', '>=', '===', '!=='];

/** Numbers of the host, as values float64 []. */
export interface NumberReader<V> {
  readonly read: (symbol: SymbolicNumber) => V;
}

/** Writes the ops of a program, branches and loops included. */
export class ProgramLowering<V extends TargetValue, A> {
  readonly #engine: Engine<V, A>;
  readonly #scalars: NumberReader<V>;
  readonly #backwardParts: ReadonlyMap<Region, BackwardPart>;
  readonly #loops: LoopGradients<V, A> | null;
  /** Tapes that backward reads in a program that is being written; null until their loop is. */
  readonly #tapes = new WeakMap<Slots<V, A>, Map<ValueId, LoopTape<V> | null>>();
  /** Checks of the user that the exported program doesn't make. */
  unchecked = 0;

  constructor(
    engine: Engine<V, A>,
    scalars: NumberReader<V>,
    backwardParts: ReadonlyMap<Region, BackwardPart> = new Map(),
  ) {
    this.#engine = engine;
    this.#scalars = scalars;
    this.#backwardParts = backwardParts;
    this.#loops =
      engine.rows && new LoopGradients(engine, engine.rows, (...args) => this.#emitAll(...args));
  }

  /** Values of the outputs. `inputs` show afterwards what was written to them. */
  run(program: Program, inputs: readonly Slot<V, A>[]): V[] {
    const slots: Slots<V, A> = new Map();
    program.inputs.forEach((id, i) => {
      slots.set(id, inputs[i]!);
    });
    this.#emitAll(program, program.ops, slots);
    return program.outputs.map((id) => this.#slotOf(slots, id).read());
  }

  #emitAll(program: Pick<Program, 'values'>, ops: readonly ProgramOp[], slots: Slots<V, A>): void {
    const undone = ops.filter(({ op }) => op.name === 'whileBackward');
    this.#tapes.set(slots, new Map(undone.map(({ inputs }) => [inputs[0]!, null])));
    for (const op of unfusedOps(ops)) this.emit(program, op, slots);
  }

  /** Writes one op, which is not fused, over the values so far. */
  emit(program: Pick<Program, 'values'>, op: ProgramOp, slots: Slots<V, A>): void {
    const define = (values: readonly V[], exists: V | null = null) =>
      values.forEach((value, i) => {
        if (i < op.outputs.length) slots.set(op.outputs[i]!, Slot.of(this.#engine, value, exists));
      });
    const { kernel } = op.op;
    if (op.op.name === 'whileBackward') {
      this.#whileBackward(op, slots).forEach((slot, i) => {
        slots.set(op.outputs[i]!, slot);
      });
      return;
    }
    const exists = this.#existence(op, slots);
    if (kernel.kind === 'control') {
      const results = this.#control(op, slots, exists);
      define(
        results.map((value) => this.#orZeros(value, exists)),
        exists,
      );
      return;
    }
    const call = this.#callOf(program, op, slots);
    if (kernel.kind === 'view') {
      slots.set(op.outputs[0]!, this.#slotOf(slots, op.inputs[0]!).seenThrough(call));
      return;
    }
    const values = this.#engine.emit(call);
    if (op.op.inPlace) {
      const target = this.#slotOf(slots, op.inputs[0]!);
      const written = this.#writeIf(exists, target, values[0]!);
      // A write whose result is unused has no output.
      if (op.outputs.length > 0) slots.set(op.outputs[0]!, written);
    } else {
      define(
        values.map((value) => this.#orZeros(value, exists)),
        exists,
      );
    }
  }

  /** An op without one of its operands is left out, its writes too. */
  #writeIf(exists: V | null, target: Slot<V, A>, value: V): Slot<V, A> {
    return target.write(exists ? this.#engine.select(exists, value, target.read()) : value);
  }

  /** When the results exist, where an operand is an optional gradient: a truth value. */
  #existence(op: ProgramOp, slots: Slots<V, A>): V | null {
    const { rows } = this.#engine;
    if (!rows) return null;
    const operands = op.inputs.flatMap((id, i) =>
      operandUse(op.op, i) === 'data' ? (slots.get(id) ?? []) : [],
    );
    if (operands.every((slot) => slot.exists === null)) return null;
    return existenceOf(op, operands, rows);
  }

  #orZeros(value: V, exists: V | null): V {
    const { rows } = this.#engine;
    return exists && rows ? this.#engine.select(exists, value, rows.filled(value, 0)) : value;
  }

  #callOf(
    program: Pick<Program, 'values'>,
    op: ProgramOp,
    slots: ReadonlyMap<ValueId, Slot<V, A>>,
  ): OpCall<V, A> {
    const { values } = program;
    const engine = this.#engine;
    const inputs = op.inputs.map((id, i) => {
      if (operandUse(op.op, i) !== 'shape') return this.#slotOf(slots, id).read();
      const { dtype } = values[id]!;
      return { id: '', element: elementOf[dtype], shape: engine.shapeOf(program, id) } as V;
    });
    const results = op.op.inPlace ? op.inputs.slice(0, 1) : op.outputs;
    return {
      op: op.op,
      inputs,
      metas: op.inputs.map((id) => plainMeta(values[id]!)),
      outputs: results.map((id) => ({
        dtype: values[id]!.dtype,
        shape: engine.shapeOf(program, id),
      })),
      attrs: engine.attrsOf(op),
      number: this.#scalars.read,
    };
  }

  #control(op: ProgramOp, slots: Slots<V, A>, exists: V | null): readonly V[] {
    const engine = this.#engine;
    const read = () => op.inputs.map((id) => this.#slotOf(slots, id).read());
    switch (op.op.name) {
      case 'cond':
        return this.#cond(op, slots, exists);
      case 'while':
        if (writtenOperands(op).length > 0) {
          throw this.#refused(op, 'a loop that writes to a pre-existing tensor');
        }
        return this.#while(op, read(), slots);
      case 'isThere':
      case 'fillMissing': {
        const operands = op.inputs.map((id) => this.#slotOf(slots, id));
        return [ofOptional(op, operands, engine)!];
      }
      case 'hostNumber': {
        const fn = op.attrs.fn as string;
        const numbers = read().map((value) => engine.convert(value, 'f64'));
        const result = scalarCall(engine, fn, numbers);
        if (!comparisons.includes(fn)) return [result];
        return [engine.compare('NE', result, engine.constant(0, 'f64'))];
      }
      case 'assert':
        this.unchecked++;
        return [];
      default:
        throw this.#refused(op, op.op.name);
    }
  }

  /** Results of both branches, which see the values around them; what they write to comes out as further results. */
  #cond(op: ProgramOp, slots: Slots<V, A>, exists: V | null): readonly V[] {
    const [condition, ...captured] = op.inputs.map((id) => this.#slotOf(slots, id));
    const written = writtenOperands(op).map((index) => index - 1);
    const isShared = (index: number) =>
      captured.some((each, i) => i !== index && each.sharesWith(captured[index]!));
    if (written.some(isShared)) {
      throw this.#refused(op, 'a branch that writes to a tensor and reads it under another name');
    }
    const values = captured.map((slot) => slot.read());
    const branches = op.regions!.map(({ program }) => () => {
      const inputs = values.map((value) => Slot.of(this.#engine, value));
      const results = this.run(program, inputs);
      return [...results, ...written.map((index) => inputs[index]!.read())];
    });
    const results = this.#engine.branch(condition!.read(), branches);
    const count = op.regions![0]!.program.outputs.length;
    written.forEach((index, i) => {
      this.#writeIf(exists, captured[index]!, results[count + i]!);
    });
    return results.slice(0, count);
  }

  /** What an iteration carries on becomes arguments of the regions; the rest they see. */
  #while(op: ProgramOp, operands: readonly V[], slots: Slots<V, A>): readonly V[] {
    const { regions, outputs } = op;
    const [test, body] = regions!.map(({ program }) => program) as [Program, Program];
    const tapes = this.#tapes.get(slots);
    const part = this.#backwardParts.get(regions![1]!);
    if (tapes?.has(outputs.at(-1)!) && this.#loops && part) {
      const isUndone = ({ op: { op: inner } }: Step) =>
        inner === condBackwardOp || inner === whileBackwardOp;
      if (part.plan.steps.some(isUndone)) {
        throw this.#refused(op, 'the gradient of a loop with a branch or loop inside it');
      }
      const { results, tape } = this.#loops.forward([test, body], part, operands);
      tapes.set(outputs.at(-1)!, tape);
      return results;
    }
    const count = body.outputs.length;
    const captured = operands.slice(count);
    return this.#engine.loop(
      operands.slice(0, count),
      (carried) => this.#region(test, [...carried, ...captured])[0]!,
      (carried) => this.#region(body, [...carried, ...captured]),
    );
  }

  #whileBackward(op: ProgramOp, slots: Slots<V, A>): Slot<V, A>[] {
    const [tapeId, ...given] = op.inputs;
    const tape = this.#tapes.get(slots)?.get(tapeId!);
    if (!this.#engine.rows) {
      throw this.#refused(
        op,
        'the gradient of a loop whose iterations are data-dependent',
        'StableHLO with a bound: exportStableHLO(f, { maxIterations })',
      );
    }
    if (!tape || !this.#loops) {
      throw this.#refused(op, 'the gradient of a loop from inside a branch or another loop');
    }
    const of = op.attrs.of as readonly number[];
    const gradients = given.map((id, i) => [of[i]!, this.#slotOf(slots, id)] as const);
    return this.#loops.backward(tape, new Map(gradients), op.attrs.to as readonly number[]);
  }

  #region(program: Program, inputs: readonly V[]): V[] {
    return this.run(
      program,
      inputs.map((value) => Slot.of(this.#engine, value)),
    );
  }

  #slotOf(slots: ReadonlyMap<ValueId, Slot<V, A>>, id: ValueId): Slot<V, A> {
    const slot = slots.get(id);
    if (slot) return slot;
    throw new ArgumentError({
      what: 'export: the gradient of a branch or loop',
      given: `value %${id}, which a branch keeps for backward`,
      expected: 'branches and loops that gradients do not flow through',
      remedy: 'use where() instead of a branch, or a loop over a constant count',
    });
  }

  #refused(
    { op }: ProgramOp,
    given: string,
    expected = 'branches and loops without writes to tensors around them, and without gradients',
  ): ArgumentError {
    return new ArgumentError({
      what: `export: ${op.name} has no form in ${this.#engine.form}`,
      given,
      expected,
      remedy: 'compute a new tensor, use where(), or a loop over a constant count',
    });
  }
}
