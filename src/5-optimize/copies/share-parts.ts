import { type Attrs, operandUse } from '../../../runtime/device/kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { ProgramFacts } from '../facts/program-facts.ts';

/** The position of a value's elements in another value. */
interface Place {
  readonly whole: ValueId;
  readonly offset: number;
}

/**
 * Makes late ops, from `firstLate` on, read parts of a concatenation that they keep live anyway, instead of its
 * operands: one copy instead of two.
 */
export function shareParts(program: Program, firstLate: number): Program {
  const facts = ProgramFacts.of(program);
  const places = new Map<ValueId, Place>();
  const outputs = new Set(program.outputs.map((id) => facts.rootOf(id)));
  for (const op of program.ops.slice(0, firstLate)) {
    if (op.op.name !== 'cat') continue;
    const [whole] = op.outputs as [ValueId];
    if (facts.lastReadOfMemory(whole) < firstLate || facts.isWritten(whole)) continue;
    for (const [id, offset] of storedOperands(program, op)) {
      const root = facts.rootOf(id);
      const isAll = sizeOf(program.values[root]!.shape) === sizeOf(program.values[id]!.shape);
      const isMade = facts.definitionIndex(root) >= 0;
      if (!isAll || !isMade || outputs.has(root) || facts.isWritten(root)) continue;
      if (isContiguousMeta(program.values[root]!)) places.set(root, { whole, offset });
    }
  }
  return places.size === 0 ? program : withLateReads(program, facts, firstLate, places);
}

/** Yields operands of a `cat` that are stored unchanged in its result, with their offsets. */
export function* storedOperands(
  { values }: Program,
  { inputs, attrs }: ProgramOp,
): Generator<[ValueId, number]> {
  const dim = attrs.dim as number;
  let offset = 0;
  for (const id of inputs) {
    const { shape } = values[id]!;
    const isBlock = sizeOf(shape.slice(0, dim)) === 1;
    if (isBlock && isContiguousMeta(values[id]!)) yield [id, offset];
    offset += sizeOf(shape);
  }
}

function withLateReads(
  program: Program,
  facts: ProgramFacts,
  firstLate: number,
  places: ReadonlyMap<ValueId, Place>,
): Program {
  return new LateReads(program, facts, places).rewrite(firstLate);
}

class LateReads {
  readonly #program: Program;
  readonly #facts: ProgramFacts;
  readonly #places: ReadonlyMap<ValueId, Place>;
  readonly #values: TensorMeta[];
  readonly #ops: ProgramOp[] = [];
  /** Early values and the replacements that late ops read. */
  readonly #moved = new Map<ValueId, ValueId>();

  constructor(program: Program, facts: ProgramFacts, places: ReadonlyMap<ValueId, Place>) {
    this.#program = program;
    this.#facts = facts;
    this.#places = places;
    this.#values = [...program.values];
  }

  rewrite(firstLate: number): Program {
    const { ops } = this.#program;
    this.#ops.push(...ops.slice(0, firstLate));
    for (const op of ops.slice(firstLate)) {
      const inputs = op.inputs.map((id, i) => {
        const isEarly = this.#facts.definitionIndex(id) < firstLate;
        return isEarly && operandUse(op.op, i) === 'data' ? this.#placed(id, op) : id;
      });
      if (op.op.kernel.kind === 'view') this.#shift(op.outputs[0]!, op.inputs[0]!, inputs[0]!);
      this.#ops.push({ ...op, inputs });
    }
    return { ...this.#program, values: this.#values, ops: this.#ops };
  }

  /** A view of a replaced value becomes a view of the replacement. */
  #shift(view: ValueId, base: ValueId, moved: ValueId): void {
    const by = this.#values[moved]!.offset - this.#program.values[base]!.offset;
    const meta = this.#program.values[view]!;
    this.#values[view] = { ...meta, offset: meta.offset + by };
  }

  #placed(id: ValueId, reader: ProgramOp): ValueId {
    const known = this.#moved.get(id);
    if (known !== undefined) return known;
    const root = this.#facts.rootOf(id);
    const place = this.#places.get(root);
    if (!place) return id;
    const moved = id === root ? this.#part(id, place, reader) : this.#view(id, reader);
    this.#moved.set(id, moved);
    return moved;
  }

  #view(id: ValueId, reader: ProgramOp): ValueId {
    const definition = this.#facts.definitionOf(id)!;
    const [base, ...others] = definition.inputs as readonly [ValueId, ...ValueId[]];
    const moved = this.#placed(base, reader);
    const copy = this.#define(this.#values[id]!);
    this.#values[copy] = {
      ...this.#values[id]!,
      offset: this.#values[id]!.offset + this.#values[moved]!.offset - this.#values[base]!.offset,
    };
    const { at } = reader;
    this.#ops.push({
      ...definition,
      inputs: [moved, ...others],
      outputs: [copy],
      recordsGrad: false,
      at,
    });
    return copy;
  }

  /** Returns the elements of a value within the concatenation that contains them. */
  #part(id: ValueId, { whole, offset }: Place, reader: ProgramOp): ValueId {
    const meta = this.#values[id]!;
    const length = sizeOf(meta.shape);
    const flat = {
      ...this.#values[whole]!,
      shape: [sizeOf(this.#values[whole]!.shape)],
      strides: [1],
    };
    const row = this.#emit('reshape', whole, { shape: flat.shape }, flat, reader);
    const narrowed = { ...flat, shape: [length], offset };
    const part = this.#emit('narrow', row, { dim: 0, start: offset, length }, narrowed, reader);
    return this.#emit('reshape', part, { shape: meta.shape }, { ...meta, offset }, reader);
  }

  #emit(name: string, input: ValueId, attrs: Attrs, meta: TensorMeta, reader: ProgramOp): ValueId {
    const copy = this.#define(meta);
    const { at } = reader;
    const view = { inputs: [input], outputs: [copy], attrs, recordsGrad: false, at };
    this.#ops.push({ op: opNamed(name), ...view });
    return copy;
  }

  #define(meta: TensorMeta): ValueId {
    return (this.#values.push(meta) - 1) as ValueId;
  }
}
