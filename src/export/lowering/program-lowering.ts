import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { operandUse } from '../../../runtime/ops/core/define-op.ts';
import type { SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/tensor/meta.ts';
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
  /** Checks of the user that the exported program doesn't make. */
  unchecked = 0;

  constructor(engine: Engine<V, A>, scalars: NumberReader<V>) {
    this.#engine = engine;
    this.#scalars = scalars;
  }

  /** Values of the outputs. `inputs` show afterwards what was written to them. */
  run(program: Program, inputs: readonly Slot<V, A>[]): V[] {
    const slots = new Map<ValueId, Slot<V, A>>();
    program.inputs.forEach((id, i) => {
      slots.set(id, inputs[i]!);
    });
    for (const op of unfusedOps(program.ops)) this.emit(program, op, slots);
    return program.outputs.map((id) => this.#slotOf(slots, id).read());
  }

  /** Writes one op, which is not fused, over the values so far. */
  emit(program: Pick<Program, 'values'>, op: ProgramOp, slots: Map<ValueId, Slot<V, A>>): void {
    const define = (values: readonly V[]) =>
      values.forEach((value, i) => {
        if (i < op.outputs.length) slots.set(op.outputs[i]!, Slot.of(this.#engine, value));
      });
    const { kernel } = op.op;
    if (kernel.kind === 'control') {
      define(this.#control(op, slots));
      return;
    }
    const call = this.#callOf(program, op, slots);
    if (kernel.kind === 'view') {
      slots.set(op.outputs[0]!, this.#slotOf(slots, op.inputs[0]!).seenThrough(call));
      return;
    }
    const values = this.#engine.emit(call);
    if (op.op.inPlace) {
      const written = this.#slotOf(slots, op.inputs[0]!).write(values[0]!);
      // A write whose result is unused has no output.
      if (op.outputs.length > 0) slots.set(op.outputs[0]!, written);
    } else define(values);
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

  #control(op: ProgramOp, slots: ReadonlyMap<ValueId, Slot<V, A>>): readonly V[] {
    const engine = this.#engine;
    const read = () => op.inputs.map((id) => this.#slotOf(slots, id).read());
    if (op.regions && writtenOperands(op).length > 0) {
      throw this.#refused(op, 'a branch or loop that writes to a pre-existing tensor');
    }
    switch (op.op.name) {
      case 'cond':
        return this.#cond(op, read());
      case 'while':
        return this.#while(op, read());
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
      case 'whileBackward':
        throw this.#refused(op, 'the gradient of a loop whose iterations are data-dependent');
      default:
        throw this.#refused(op, op.op.name);
    }
  }

  /** Results of both branches, which see the values around them. */
  #cond({ regions }: ProgramOp, [condition, ...captured]: readonly V[]): readonly V[] {
    const branches = regions!.map(
      ({ program }) =>
        () =>
          this.#region(program, captured),
    );
    return this.#engine.branch(condition!, branches);
  }

  /** What an iteration carries on becomes arguments of the regions; the rest they see. */
  #while({ regions }: ProgramOp, operands: readonly V[]): readonly V[] {
    const [test, body] = regions!.map(({ program }) => program) as [Program, Program];
    const count = body.outputs.length;
    const captured = operands.slice(count);
    return this.#engine.loop(
      operands.slice(0, count),
      (carried) => this.#region(test, [...carried, ...captured])[0]!,
      (carried) => this.#region(body, [...carried, ...captured]),
    );
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

  #refused({ op }: ProgramOp, given: string): ArgumentError {
    return new ArgumentError({
      what: `export: ${op.name} has no form in ${this.#engine.form}`,
      given,
      expected: 'branches and loops without writes to tensors around them, and without gradients',
      remedy: 'compute a new tensor, use where(), or a loop over a constant count',
    });
  }
}
