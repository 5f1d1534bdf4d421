import { operandUse } from '../../../runtime/device/kernel-op.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { withPositionProvider } from '../../../runtime/errors/position.ts';
import type { SymbolicNumber } from '../../../runtime/ops/numbers/symbolic-number.ts';
import {
  condBackwardOp,
  condOp,
  drawnBy,
  whileBackwardOp,
  whileOp,
} from '../../../runtime/program/control-ops.ts';
import { unfusedOps } from '../../../runtime/program/fused/unfused.ts';
import { earlierSum, nameGradientOp } from '../../../runtime/program/optional-gradients.ts';
import type { BackwardPart } from '../../../runtime/program/plan.ts';
import type { Program, ProgramOp, Region, ValueId } from '../../../runtime/program/program.ts';
import { type Engine, elementOf, type OpCall, type TargetValue } from '../target/target.ts';
import { ControlLowering, refused } from './control-lowering.ts';
import { Frame } from './frame.ts';
import { existenceOf, ofOptional } from './optional-gradient.ts';
import { scalarCall } from './scalars.ts';
import { Slot } from './slots.ts';

const plainMeta = ({ dtype, shape, device }: TensorMeta) =>
  contiguousMeta({ dtype, shape }, device);

const comparisons = ['<', '<=', '>', '>=', '===', '!=='];

/** JavaScript numbers, as values float64 []. */
interface NumberReader<V> {
  readonly read: (symbol: SymbolicNumber) => V;
}

/** Lowers the ops of a program, including branches and loops. */
export class ProgramLowering<V extends TargetValue> {
  readonly #engine: Engine<V>;
  readonly #scalars: NumberReader<V>;
  readonly #control: ControlLowering<V>;
  /** The number of user checks that the exported program omits. */
  unchecked = 0;

  constructor(
    engine: Engine<V>,
    scalars: NumberReader<V>,
    backwardParts: ReadonlyMap<Region, BackwardPart> = new Map(),
  ) {
    this.#engine = engine;
    this.#scalars = scalars;
    this.#control = new ControlLowering(engine, backwardParts, (...args) => this.#emitAll(...args));
  }

  /**
   * Returns the values of the outputs. Afterwards, `inputs` reflect the writes to them; null for an input that is never
   * read.
   */
  run(program: Program, inputs: readonly (Slot<V> | null)[]): V[] {
    const frame = new Frame<V>();
    program.inputs.forEach((id, i) => {
      const slot = inputs[i];
      if (slot) frame.slots.set(id, slot);
    });
    this.#emitAll(program, program.ops, frame);
    return program.outputs.map((id) => frame.slot(id).read());
  }

  #emitAll(program: Pick<Program, 'values'>, ops: readonly ProgramOp[], frame: Frame<V>): void {
    frame.prepare(ops);
    // An error names the line of the op, not the line of the export.
    for (const op of unfusedOps(ops)) {
      withPositionProvider(
        () => op.at,
        () => this.emit(program, op, frame),
      );
    }
  }

  /** Lowers one unfused op over the values so far. */
  emit(program: Pick<Program, 'values'>, op: ProgramOp, frame: Frame<V>): void {
    const { slots } = frame;
    if (op.op === condBackwardOp || op.op === whileBackwardOp) {
      this.#control.backward(op, frame).forEach((slot, i) => {
        slots.set(op.outputs[i]!, slot);
      });
      return;
    }
    const { kernel } = op.op;
    const exists = this.#existence(op, frame);
    if (op.op === condOp || op.op === whileOp) {
      this.#emitRegions(op, frame, exists);
    } else if (op.op === earlierSum || (op.op === nameGradientOp && !op.attrs.apart)) {
      // An exported program sums contributions per name: it doesn't know which names are one tensor.
      const missing = this.#engine.constant(0, 'i1');
      this.#define(op, frame, [frame.slot(op.inputs[0]!).read()], missing);
    } else if (kernel.kind === 'control') {
      if (kernel.form === 'draw') this.#define(op, frame, this.#drawn(program, op, frame), null);
      else this.#define(op, frame, this.#controlled(op, frame), exists);
    } else if (op.op === nameGradientOp) {
      slots.set(op.outputs[0]!, frame.slot(op.inputs[0]!));
    } else if (kernel.kind === 'view') {
      const call = this.#callOf(program, op, frame);
      slots.set(op.outputs[0]!, frame.slot(op.inputs[0]!).seenThrough(call));
    } else if (op.op.inPlace) {
      const [value] = this.#engine.emit(this.#callOf(program, op, frame));
      const written = this.#writeIf(exists, frame.slot(op.inputs[0]!), value!);
      // A write whose result is unused has no output.
      if (op.outputs.length > 0) slots.set(op.outputs[0]!, written);
    } else {
      this.#define(op, frame, this.#engine.emit(this.#callOf(program, op, frame)), exists);
    }
  }

  /** Emits a branch or loop, with its writes to surrounding values. */
  #emitRegions(op: ProgramOp, frame: Frame<V>, exists: V | null): void {
    const control =
      op.op === condOp ? this.#control.cond(op, frame) : this.#control.while(op, frame);
    for (const [memory, value] of control.written) {
      memory.write(exists ? this.#engine.select(exists, value, memory.current) : value);
    }
    this.#define(op, frame, control.values, exists);
    control.values.forEach((_, i) => {
      frame.slots.get(op.outputs[i]!)?.memory.linkWith(control.shows[i]!);
    });
  }

  /** Defines an op's results, as zeros if they don't exist, and omits those beyond its outputs. */
  #define(op: ProgramOp, frame: Frame<V>, values: readonly V[], exists: V | null): void {
    const results = values.map((value) => this.#orZeros(value, exists));
    op.outputs.forEach((id, i) => {
      const value = results[i];
      if (value) frame.slots.set(id, Slot.of(this.#engine, value, exists));
    });
  }

  /** Skips an op without one of its operands, including its writes. */
  #writeIf(exists: V | null, target: Slot<V>, value: V): Slot<V> {
    return target.write(exists ? this.#engine.select(exists, value, target.read()) : value);
  }

  /** Returns whether the results exist, as a boolean, if an operand is an optional gradient. */
  #existence(op: ProgramOp, { slots }: Frame<V>): V | null {
    const { gradients } = this.#engine;
    if (!gradients) return null;
    const operands = op.inputs.flatMap((id, i) =>
      operandUse(op.op, i) === 'data' ? (slots.get(id) ?? []) : [],
    );
    if (operands.every((slot) => slot.exists === null)) return null;
    return existenceOf(op, operands, gradients);
  }

  #orZeros(value: V, exists: V | null): V {
    const { gradients } = this.#engine;
    if (!exists || !gradients) return value;
    return this.#engine.select(exists, value, gradients.filled(value, 0));
  }

  #callOf(program: Pick<Program, 'values'>, op: ProgramOp, frame: Frame<V>): OpCall<V> {
    const { values } = program;
    const engine = this.#engine;
    const inputs = op.inputs.map((id, i) => {
      if (operandUse(op.op, i) !== 'shape') return frame.slot(id).read();
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

  /** Emits random numbers from a known position in the stream. */
  #drawn(program: Pick<Program, 'values'>, op: ProgramOp, frame: Frame<V>): readonly V[] {
    const engine = this.#engine;
    const [seed, ...places] = op.inputs.map((id) => this.#numberOf(frame, id)) as [V, ...V[]];
    const first = engine.constant(op.attrs.offset as number, 'f64');
    const offset = places.reduce((sum, place) => engine.binary('add', sum, place), first);
    const call = this.#callOf(program, op, frame);
    const computed = { seed, offset };
    return engine.emit({ ...call, op: drawnBy(op.op), inputs: [], metas: [], computed });
  }

  #numberOf(frame: Frame<V>, id: ValueId): V {
    return this.#engine.convert(frame.slot(id).read(), 'f64');
  }

  #controlled(op: ProgramOp, frame: Frame<V>): readonly V[] {
    const engine = this.#engine;
    switch (op.op.name) {
      case 'isThere':
      case 'fillMissing': {
        const operands = op.inputs.map((id) => frame.slot(id));
        return [ofOptional(op, operands, engine)!];
      }
      case 'hostNumber': {
        const fn = op.attrs.fn as string;
        const numbers = op.inputs.map((id) => this.#numberOf(frame, id));
        const result = scalarCall(engine, fn, numbers);
        if (!comparisons.includes(fn)) return [result];
        return [engine.compare('NE', result, engine.constant(0, 'f64'))];
      }
      case 'assert':
        this.unchecked++;
        return [];
      default:
        throw refused(op.op.name, op.op.name, engine);
    }
  }
}
