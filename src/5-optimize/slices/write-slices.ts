import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { type Attrs, operandUse } from '../../../runtime/device/kernel-op.ts';
import { presentView } from '../../../runtime/device/symbolic-attrs.ts';
import { contiguousMeta, type TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import { productBlock, sumBlock } from '../../../runtime/numerics/blocks.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { withDerivedViews } from '../../../runtime/program/verify/view-metas.ts';
import { sameShape, sizeOf, viewStrides } from '../../../runtime/spec/shape.ts';
import { blockRanges } from './block-ranges.ts';
import type { SliceRegion, Stage } from './region.ts';
import { cutShape, type Slicing } from './rules.ts';

/**
 * Returns the program with its region written out slice by slice. Parts of one value are concatenated for the ops after
 * the slices. Null if strides don't allow a view of a part.
 */
export function writeSlices(program: Program, region: SliceRegion, parts: number): Program | null {
  try {
    return new SliceWriter(program, region, parts).write();
  } catch (error) {
    if (error instanceof NoSuchView) return null;
    throw error;
  }
}

class NoSuchView extends Error {}

class SliceWriter {
  readonly #program: Program;
  readonly #region: SliceRegion;
  readonly #parts: number;
  readonly #values: TensorMeta[];
  readonly #ops: ProgramOp[] = [];
  /** The parts of values that exist in parts. */
  readonly #slices = new Map<ValueId, ValueId[]>();
  /** Parts of whole values, created for the current slice. */
  #narrowed = new Map<string, ValueId>();
  /** Results of the slices and of the ops after them. */
  readonly #late: ReadonlySet<ValueId>;
  readonly #joined = new Map<ValueId, ValueId>();
  readonly #shapes = new Map<string, ValueId>();
  /** For each sum, the partial sum of a block that ends in a later slice. */
  readonly #open = new Map<ValueId, ValueId>();
  /** The op that is being written. */
  #source!: ProgramOp;

  constructor(program: Program, region: SliceRegion, parts: number) {
    this.#program = program;
    this.#region = region;
    this.#parts = parts;
    this.#values = [...program.values];
    const late = program.ops.filter((_, i) => region.stages[i] !== 'before');
    this.#late = new Set(late.flatMap(({ outputs }) => outputs));
  }

  write(): Program {
    const { ops, outputs } = this.#program;
    const { slicings } = this.#region;
    this.#copyAll('before');
    for (let part = 0; part < this.#parts; part++) {
      this.#narrowed = new Map();
      for (const [index, slicing] of slicings) {
        this.#source = ops[index]!;
        this.#writePart(slicing, part);
      }
    }
    for (const [index, slicing] of slicings) {
      this.#source = ops[index]!;
      if (slicing.kind === 'sumRows') this.#joinRows(slicing.rows, slicing.columns);
    }
    this.#copyAll('after');
    this.#source = ops.at(-1)!;
    const results = outputs.map((id) => this.#whole(id));
    const { inputs } = this.#program;
    const written = { values: this.#values, inputs, ops: this.#ops, outputs: results };
    return withDerivedViews(written);
  }

  #copyAll(stage: 'before' | 'after'): void {
    const { stages, slicings } = this.#region;
    this.#program.ops.forEach((op, index) => {
      if (stages[index] !== stage) return;
      this.#source = op;
      if (slicings.get(index)?.kind === 'labelScores') {
        this.#joinScores();
        return;
      }
      const inputs = op.inputs.map((id, i) => {
        return operandUse(op.op, i) === 'data' ? this.#whole(id) : this.#shapeOf(id, stage);
      });
      this.#ops.push({ ...op, inputs });
    });
  }

  /** Returns a value that ops outside the slices read. */
  #whole(id: ValueId): ValueId {
    const dim = this.#region.cutOf.get(id);
    if (dim === undefined) return id;
    const known = this.#joined.get(id);
    if (known !== undefined) return known;
    const all = this.#slices.get(id)!;
    const sizes = all.map((part) => this.#values[part]!.shape[dim]!);
    const joined = this.#emit(opNamed('cat'), all, { dim, sizes })[0]!;
    this.#joined.set(id, joined);
    return joined;
  }

  /** Returns a value with the shape of another value, which may not exist as a whole. */
  #shapeOf(id: ValueId, stage: Stage): ValueId {
    const isThere = !this.#region.cutOf.has(id) && (stage === 'after' || !this.#late.has(id));
    return isThere ? id : this.#ofShape(id, this.#values[id]!.shape);
  }

  /** Expands one number: reading a shape needs no other memory. */
  #ofShape(like: ValueId, shape: readonly number[]): ValueId {
    const { dtype, device } = this.#values[like]!;
    const key = `${dtype}:${shape.join()}`;
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const attrs = { shape: [], value: 0, dtype };
    const single = this.#define(contiguousMeta({ dtype, shape: [] }, device));
    const source = this.#source;
    this.#ops.push({ ...source, op: opNamed('full'), inputs: [], outputs: [single], attrs });
    const repeated = this.#emit(opNamed('expand'), [single], { shape })[0]!;
    this.#shapes.set(key, repeated);
    return repeated;
  }

  #writePart(slicing: Slicing, part: number): void {
    const { op, inputs, outputs, attrs } = this.#source;
    const operands = inputs.map((id, i) => {
      const cut = slicing.operands[i]!;
      return operandUse(op, i) === 'data' ? this.#partOf(id, cut, part) : this.#partShape(id, cut);
    });
    switch (slicing.kind) {
      case 'map': {
        // A different op has its shape as an attribute instead of an operand.
        const sliced = slicing.op ? operands.slice(0, slicing.op.operands.length) : operands;
        const results = this.#emit(slicing.op ?? op, sliced, slicing.attrs ?? attrs);
        outputs.forEach((id, i) => {
          this.#checkPart(id, results[i]!, slicing.outputs[i]!);
          this.#addPart(id, results[i]!);
        });
        return;
      }
      case 'accumulate': {
        if (part === 0) {
          this.#ops.push({ ...this.#source, inputs: operands, attrs: this.#firstAttrs(slicing) });
          return;
        }
        const sliced = operands.slice(0, slicing.into.operands.length - 1);
        this.#emit(slicing.into, [outputs[0]!, ...sliced], slicing.attrs(part));
        return;
      }
      case 'sumProducts':
        this.#sumProducts(operands, slicing.length, part);
        return;
      case 'sumRows':
        this.#sumRows(operands[0]!, slicing, part);
        return;
      case 'labelScores':
        this.#addPart(outputs[0]!, this.#emit(opNamed('labelScores'), operands, {})[0]!);
    }
  }

  /**
   * Continues a product: whole blocks are added to the total; a block that began before or ends later has a sum of
   * its own.
   */
  #sumProducts([a, b]: readonly ValueId[], length: number, part: number): void {
    const { op, outputs, attrs } = this.#source;
    const [total] = outputs as readonly [ValueId];
    const partLength = length / this.#parts;
    const first = part * partLength;
    for (const range of blockRanges([first, first + partLength], length, productBlock, true)) {
      const { from, kind, begins, closes } = range;
      const at = [from - first, range.length] as const;
      const factors = [this.#rangeOf(a!, 1, at), this.#rangeOf(b!, 0, at)];
      const open = this.#open.get(total);
      if (from === 0) this.#ops.push({ ...this.#source, inputs: factors });
      else if (kind === 'whole') {
        this.#emit(opNamed('addMatmul_'), [total, ...factors], { start: from });
      } else if (begins) this.#open.set(total, this.#emit(op, factors, attrs)[0]!);
      else this.#emit(opNamed('addMatmul_'), [open!, ...factors], { start: from % productBlock });
      if (kind === 'open' && closes)
        this.#emit(opNamed('add_'), [total, this.#open.get(total)!], { value: 1 });
    }
  }

  /** Sums a slice of rows in blocks, continuing the sum of a block that began in an earlier slice. */
  #sumRows(x: ValueId, { rows, columns }: Slicing & { kind: 'sumRows' }, part: number): void {
    const [result] = this.#source.outputs as readonly [ValueId];
    const partRows = rows / this.#parts;
    const first = part * partRows;
    for (const range of blockRanges([first, first + partRows], rows, sumBlock, false)) {
      const { from, length, kind, begins, closes } = range;
      if (kind === 'whole' && length === partRows) {
        this.#addPart(result, this.#blockSums(x, length, columns));
        continue;
      }
      const all = this.#reshape(x, [partRows, columns]);
      const taken = this.#rangeOf(all, 0, [from - first, length]);
      if (kind === 'whole') {
        this.#addPart(result, this.#blockSums(taken, length, columns));
        continue;
      }
      const sizes = [1, length];
      const added = begins
        ? taken
        : this.#emit(opNamed('cat'), [this.#open.get(result)!, taken], { dim: 0, sizes })[0]!;
      const [sum] = this.#emit(opNamed('sum'), [added], { dims: [0], keepDim: true });
      if (closes) this.#addPart(result, sum!);
      else this.#open.set(result, sum!);
    }
  }

  /** Returns a part of a value along one dimension; the value itself if the part covers it. */
  #rangeOf(id: ValueId, dim: number, [start, length]: readonly [number, number]): ValueId {
    if (this.#values[id]!.shape[dim] === length) return id;
    return this.#emit(opNamed('narrow'), [id], { dim, start, length })[0]!;
  }

  /** Returns the attributes of the first part; for a norm they include its size. */
  #firstAttrs(slicing: Slicing & { kind: 'accumulate' }): Attrs {
    const { op, attrs } = this.#source;
    return op.name === 'standardizeWeightGrad' ? slicing.attrs(0) : attrs;
  }

  #addPart(id: ValueId, part: ValueId): void {
    getOrInsert(this.#slices, id, () => []).push(part);
  }

  #checkPart(whole: ValueId, part: ValueId, dim: number): void {
    const expected = cutShape(this.#values[whole]!.shape, dim, this.#parts);
    if (!sameShape(this.#values[part]!.shape, expected)) throw new NoSuchView();
  }

  #partOf(id: ValueId, cut: number | null, part: number): ValueId {
    const parts = this.#slices.get(id);
    if (parts && this.#region.cutOf.has(id)) return parts[part]!;
    if (cut === null) return id;
    const key = `${id}:${cut}`;
    const known = this.#narrowed.get(key);
    if (known !== undefined) return known;
    const length = this.#values[id]!.shape[cut]! / this.#parts;
    const attrs = { dim: cut, start: part * length, length };
    const [narrowed] = this.#emit(opNamed('narrow'), [id], attrs);
    this.#narrowed.set(key, narrowed!);
    return narrowed!;
  }

  #partShape(id: ValueId, cut: number | null): ValueId {
    if (cut === null) return this.#shapeOf(id, 'sliced');
    return this.#ofShape(id, cutShape(this.#values[id]!.shape, cut, this.#parts));
  }

  /** [rows, columns] → [rows / block, columns]: sums of adjacent rows. */
  #blockSums(x: ValueId, rows: number, columns: number): ValueId {
    const blocks = this.#reshape(x, [rows / sumBlock, sumBlock, columns]);
    return this.#emit(opNamed('sum'), [blocks], { dims: [1], keepDim: false })[0]!;
  }

  /** Sums the block sums in blocks of their own, and these sums one after another. */
  #joinRows(rows: number, columns: number): void {
    const [result] = this.#source.outputs;
    const all = this.#slices.get(result!)!;
    const sizes = all.map((part) => this.#values[part]!.shape[0]!);
    let sums = this.#emit(opNamed('cat'), all, { dim: 0, sizes })[0]!;
    let left = Math.ceil(rows / sumBlock);
    if (left > sumBlock) {
      const whole = Math.floor(left / sumBlock) * sumBlock;
      const parts: ValueId[] = [];
      const partSizes: number[] = [];
      const take = (start: number, length: number, of: number) => {
        const [own] = this.#emit(opNamed('narrow'), [sums], { dim: 0, start, length });
        const blocks = this.#reshape(own!, [length / of, of, columns]);
        parts.push(this.#emit(opNamed('sum'), [blocks], { dims: [1], keepDim: false })[0]!);
        partSizes.push(length / of);
      };
      take(0, whole, sumBlock);
      if (left > whole) take(whole, left - whole, left - whole);
      left = Math.ceil(left / sumBlock);
      sums = this.#emit(opNamed('cat'), parts, { dim: 0, sizes: partSizes })[0]!;
    }
    const [total] = this.#emit(opNamed('sum'), [sums], { dims: [0], keepDim: false });
    const { shape } = this.#values[result!]!;
    const source = this.#source;
    const reshaped = { ...source, op: opNamed('reshape'), inputs: [total!], attrs: { shape } };
    this.#ops.push({ ...reshaped, outputs: [result!] });
  }

  /** Computes the loss from the scores of all labels. */
  #joinScores(): void {
    const { inputs, outputs } = this.#source;
    const [logProbs, target] = inputs as readonly [ValueId, ValueId];
    const parts = this.#slices.get(outputs[0]!)!;
    const sizes = parts.map((part) => this.#values[part]!.shape[0]!);
    const scores = this.#emit(opNamed('cat'), parts, { dim: 0, sizes })[0]!;
    const attrs = { classes: this.#values[logProbs]!.shape[1]! };
    const op = opNamed('nllLossOfScores');
    this.#ops.push({ ...this.#source, op, inputs: [scores, this.#whole(target)], attrs });
  }

  #reshape(x: ValueId, shape: readonly number[]): ValueId {
    return this.#emit(opNamed('reshape'), [x], { shape })[0]!;
  }

  #emit(op: OpRecord, inputs: readonly ValueId[], attrs: Attrs): readonly ValueId[] {
    const metas = inputs.map((id) => this.#values[id]!);
    const outputs = op.inPlace ? [] : this.#results(op, metas, attrs).map((m) => this.#define(m));
    this.#ops.push({ ...this.#source, op, inputs, outputs, attrs });
    return outputs;
  }

  #results(op: OpRecord, metas: readonly TensorMeta[], attrs: Attrs): TensorMeta[] {
    const { kernel } = op;
    if (kernel.kind !== 'view') {
      return op.infer(metas, attrs).map((spec) => contiguousMeta(spec, metas[0]!.device));
    }
    if (op.name === 'reshape') {
      const [x] = metas;
      const shape = attrs.shape as readonly number[];
      const fits = sizeOf(x!.shape) === sizeOf(shape) && viewStrides(x!.shape, x!.strides, shape);
      if (!fits) throw new NoSuchView();
    }
    return [presentView(op, metas, attrs)];
  }

  #define(meta: TensorMeta): ValueId {
    return (this.#values.push(meta) - 1) as ValueId;
  }
}
