import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { operandUse } from '../../../runtime/ops/define-op.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/tensor/meta.ts';
import { type Emitter, specOf, typeOf, type Value } from './emitter.ts';
import { emitOp } from './mapping.ts';
import type { OpCall } from './op-mapping.ts';
import { type ScalarEmitter, scalarCall } from './scalars.ts';
import { Slot } from './slots.ts';

const plainMeta = ({ dtype, shape, device }: TensorMeta) =>
  contiguousMeta({ dtype, shape }, device);

/** Writes the ops of a program, branches and loops included. */
export class ProgramEmitter {
  readonly #to: Emitter;
  readonly #scalars: ScalarEmitter;
  /** Checks of the user that the exported program doesn't make. */
  unchecked = 0;

  constructor(to: Emitter, scalars: ScalarEmitter) {
    this.#to = to;
    this.#scalars = scalars;
  }

  /** Values of the outputs. `inputs` show afterwards what was written to them. */
  run(program: Program, inputs: readonly Slot[]): Value[] {
    const slots = new Map<ValueId, Slot>();
    program.inputs.forEach((id, i) => {
      slots.set(id, inputs[i]!);
    });
    for (const op of unfusedOps(program.ops)) this.#emit(program, op, slots);
    return program.outputs.map((id) => slotOf(slots, id).read());
  }

  #emit(program: Program, op: ProgramOp, slots: Map<ValueId, Slot>): void {
    const define = (values: readonly Value[]) =>
      values.forEach((value, i) => {
        if (i < op.outputs.length) slots.set(op.outputs[i]!, Slot.of(value));
      });
    const { kernel } = op.op;
    if (kernel.kind === 'control') {
      define(this.#control(op, slots));
      return;
    }
    const call = this.#callOf(program, op, slots);
    if (kernel.kind === 'view') {
      slots.set(op.outputs[0]!, slotOf(slots, op.inputs[0]!).seenThrough(call));
      return;
    }
    const values = emitOp(call);
    if (op.op.inPlace) {
      const written = slotOf(slots, op.inputs[0]!).write(this.#to, values[0]!);
      // A write whose result nobody names has no output.
      if (op.outputs.length > 0) slots.set(op.outputs[0]!, written);
    } else define(values);
  }

  #callOf({ values }: Program, op: ProgramOp, slots: ReadonlyMap<ValueId, Slot>): OpCall {
    const metas = op.inputs.map((id) => plainMeta(values[id]!));
    const inputs = op.inputs.map((id, i) => {
      if (operandUse(op.op, i) === 'shape') return { id: '', ...specOf(metas[i]!) };
      return slotOf(slots, id).read();
    });
    const outputs = op.op.inPlace
      ? metas.slice(0, 1)
      : op.outputs.map((id) => plainMeta(values[id]!));
    const { attrs } = op;
    return { to: this.#to, op: op.op, inputs, metas, outputs, attrs, number: this.#scalars.read };
  }

  #control(op: ProgramOp, slots: ReadonlyMap<ValueId, Slot>): readonly Value[] {
    const read = () => op.inputs.map((id) => slotOf(slots, id).read());
    if (op.regions && writtenOperands(op).length > 0) {
      throw refused(op, 'a branch or loop that writes to a tensor from outside');
    }
    switch (op.op.name) {
      case 'cond':
        return this.#cond(op, read());
      case 'while':
        return this.#while(op, read());
      case 'hostNumber': {
        const numbers = read().map((value) => this.#to.convert(value, 'f64'));
        const result = scalarCall(this.#to, op.attrs.fn as string, numbers);
        const isTruth = ['<', '<=', '>', '>=', '===', '!=='].includes(op.attrs.fn as string);
        return [isTruth ? this.#to.compare('NE', result, this.#to.constant(0, 'f64')) : result];
      }
      case 'assert':
        this.unchecked++;
        return [];
      case 'whileBackward':
        throw refused(op, 'the gradient of a loop whose iterations are data-dependent');
      default:
        throw refused(op, op.op.name);
    }
  }

  /** Results of both branches, which see the values around them. */
  #cond({ regions }: ProgramOp, [condition, ...captured]: readonly Value[]): readonly Value[] {
    const bodies = regions!.map(({ program }) =>
      this.#region(() => this.run(program, captured.map(Slot.of))),
    );
    const results = bodies[0]!.results;
    const text = bodies.map(({ lines }) => `{\n${lines}\n    }`).join(', ');
    return this.#several(`"stablehlo.if"(${condition!.id}) (${text})`, [condition!], results);
  }

  /** What an iteration carries on becomes arguments of the regions; the rest they see. */
  #while({ regions }: ProgramOp, operands: readonly Value[]): readonly Value[] {
    const to = this.#to;
    const count = regions![1]!.program.outputs.length;
    const carried = operands.slice(0, count);
    const captured = operands.slice(count);
    const bodies = regions!.map(({ program }) => {
      const names = carried.map((value) => ({ ...value, id: to.fresh() }));
      const { lines } = this.#region(() => this.run(program, [...names, ...captured].map(Slot.of)));
      const parameters = names.map((value) => `${value.id}: ${typeOf(value)}`).join(', ');
      return `{\n    ^bb0(${parameters}):\n${lines}\n    }`;
    });
    const ids = carried.map(({ id }) => id).join(', ');
    return this.#several(`"stablehlo.while"(${ids}) (${bodies.join(', ')})`, carried, carried);
  }

  #region(body: () => readonly Value[]): { lines: string; results: readonly Value[] } {
    const to = this.#to;
    const from = to.lines.length;
    const results = to.nested(() => {
      const values = body();
      const ids = values.map(({ id }) => id).join(', ');
      to.line(`"stablehlo.return"(${ids}) : (${values.map(typeOf).join(', ')}) -> ()`);
      return values;
    });
    return { lines: to.lines.splice(from).join('\n'), results };
  }

  #several(text: string, operands: readonly Value[], results: readonly Value[]): Value[] {
    const to = this.#to;
    if (results.length === 0) return [];
    const id = to.fresh();
    const name = results.length > 1 ? `${id}:${results.length}` : id;
    const types = `(${operands.map(typeOf).join(', ')}) -> (${results.map(typeOf).join(', ')})`;
    to.line(`${name} = ${text} : ${types}`);
    return results.map((value, i) => ({ ...value, id: results.length > 1 ? `${id}#${i}` : id }));
  }
}

function slotOf(slots: ReadonlyMap<ValueId, Slot>, id: ValueId): Slot {
  const slot = slots.get(id);
  if (slot) return slot;
  throw new ArgumentError({
    what: 'export: the gradient of a branch or loop',
    given: `value %${id}, which a branch keeps for backward`,
    expected: 'branches and loops that gradients do not flow through',
    remedy: 'use where() instead of a branch, or a loop over a constant count',
  });
}

function refused({ op }: ProgramOp, given: string): ArgumentError {
  return new ArgumentError({
    what: `export: ${op.name} has no form in StableHLO`,
    given,
    expected: 'branches and loops without writes to tensors around them, and without gradients',
    remedy: 'compute a new tensor, use where(), or a loop over a constant count',
  });
}
