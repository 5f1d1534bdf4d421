import type { Device } from '../../device/device.ts';
import { slotAlignment } from '../../device/inner-bytes.ts';
import { mayOverwrite, operandUse } from '../../device/kernel-op.ts';
import type { RowCut, RowSlice, Stage, StagedBody, StagePlace } from '../../device/staged-body.ts';
import {
  hasChangingAttrs,
  isChanging,
  launchAttrs,
  presentAttrs,
} from '../../device/symbolic-attrs.ts';
import { contiguousMeta, isContiguousMeta } from '../../device/tensor-meta.ts';
import { pointwiseRows, type RowRule } from '../../ops/record/row-cuts.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { ProgramOp, ValueId, ValueTable } from '../program.ts';
import { writtenOperands } from '../writes.ts';
import { exprOf } from './fused-op.ts';

/** Whether the op is a view of all elements of its operand in order: the same memory with another shape. */
export function isAlias({ op, inputs, outputs, attrs }: ProgramOp, values: ValueTable): boolean {
  if (op.kernel.kind !== 'view' || hasChangingAttrs(attrs)) return false;
  const [base, view] = [values[inputs[0]!]!, values[outputs[0]!]!];
  return (
    base.dtype === view.dtype &&
    sizeOf(base.shape) === sizeOf(view.shape) &&
    base.offset === view.offset &&
    isContiguousMeta(base) &&
    isContiguousMeta(view)
  );
}

const noCuts: readonly RowCut[] = [];
const known = new WeakMap<ProgramOp, readonly RowCut[]>();

/** Returns how an op can be cut into rows; empty if it must stay a separate op. */
export function rowCutsOf(programOp: ProgramOp, values: ValueTable): readonly RowCut[] {
  if (!ruleOf(programOp)) return noCuts;
  let cuts = known.get(programOp);
  if (!cuts) {
    cuts = findCuts(programOp, values);
    known.set(programOp, cuts);
  }
  return cuts;
}

function ruleOf({ op, parts }: ProgramOp): RowRule | undefined {
  if (op.rows) return op.rows;
  return (parts && op.kernel.kind === 'fused') || exprOf(op) ? pointwiseRows : undefined;
}

/** Returns the values that an op's kernel writes: its results, or its target. */
function writtenValues({ op, inputs, outputs }: ProgramOp): readonly ValueId[] {
  return op.inPlace ? inputs.slice(0, 1) : outputs;
}

function findCuts(programOp: ProgramOp, values: ValueTable): readonly RowCut[] {
  const { op, inputs, attrs, before, call, regions } = programOp;
  const rule = ruleOf(programOp);
  if (!rule || before !== undefined || call || regions || op.mayRefuse || op.target) return noCuts;
  const launchAttrNames = launchAttrs(op);
  const areAttrsKnown = Object.entries(attrs).every(
    ([name, value]) => launchAttrNames.has(name) || !isChanging(value),
  );
  if (!areAttrsKnown) return noCuts;
  const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
  // A fused op that only writes in place takes its shape from what it writes.
  const written = writtenValues(programOp);
  const shown = written.length > 0 ? written : writtenOperands(programOp).map((i) => inputs[i]!);
  if (shown.length === 0) return noCuts;
  // Strides of an operand whose shape alone is read are irrelevant; it may be one repeated number.
  const read = metas(inputs).map((meta, i) =>
    operandUse(op, i) === 'shape' ? contiguousMeta(meta, meta.device) : meta,
  );
  const shownMetas = metas(shown);
  const { device } = shownMetas[0]!;
  if (device.innerBytes === 0 || [...read, ...shownMetas].some((meta) => meta.device !== device)) {
    return noCuts;
  }
  const plain = presentAttrs(attrs);
  if (op.kernel.kind === 'named' && device.scratchBytes(op, read, shownMetas, plain) > 0)
    return noCuts;
  const cuts = rule(read, shownMetas, plain);
  return written.length > 0 ? cuts : cuts.map((cut) => ({ ...cut, outputs: [] }));
}

/** Resolves aliases of a staged op's values to their bases. */
class Bases {
  readonly #base = new Map<ValueId, ValueId>();

  constructor(parts: readonly ProgramOp[], values: ValueTable) {
    for (const part of parts) {
      if (isAlias(part, values)) this.#base.set(part.outputs[0]!, this.of(part.inputs[0]!));
    }
  }

  of(id: ValueId): ValueId {
    return this.#base.get(id) ?? id;
  }
}

interface CutPart {
  readonly part: ProgramOp;
  readonly index: number;
  readonly cut: RowCut;
}

/**
 * Cuts the parts into as many rows as possible, the same number for each, such that a part's rows depend only on the
 * same rows of other parts. Null if there is no such cut, or a block of rows doesn't fit into inner memory.
 */
export function stagedBody(
  parts: readonly ProgramOp[],
  results: readonly ValueId[],
  operands: readonly ValueId[],
  values: ValueTable,
): StagedBody | null {
  for (const builder of inRows(parts, values)) {
    const found = builder.build(results, operands);
    if (found) return found;
  }
  return null;
}

/** Whether the parts have a staged body if all their values are results, so that none takes inner memory. */
export function haveCommonRows(parts: readonly ProgramOp[], values: ValueTable): boolean {
  for (const builder of inRows(parts, values)) if (builder.isApart()) return true;
  return false;
}

/** Yields the parts cut into each common number of rows, the largest number first. */
function* inRows(parts: readonly ProgramOp[], values: ValueTable): Generator<BodyBuilder> {
  const bases = new Bases(parts, values);
  const ops = parts.flatMap((part, index) => (isAlias(part, values) ? [] : [{ part, index }]));
  const cuts = ops.map(({ part }) => rowCutsOf(part, values));
  const counts = new Set(cuts.flatMap((each) => each.map(({ count }) => count)));
  for (const rows of [...counts].sort((a, b) => b - a)) {
    const cut = ops.map(({ part, index }, i): CutPart | null => {
      const fitting = cuts[i]!.filter(({ count }) => count % rows === 0);
      const own = fitting.at(-1);
      return own ? { part, index, cut: own } : null;
    });
    if (cut.every((each) => each !== null)) yield new BodyBuilder(cut, rows, bases, values);
  }
}

class BodyBuilder {
  readonly #parts: readonly CutPart[];
  readonly #rows: number;
  readonly #bases: Bases;
  readonly #values: ValueTable;

  constructor(parts: readonly CutPart[], rows: number, bases: Bases, values: ValueTable) {
    this.#parts = parts;
    this.#rows = rows;
    this.#bases = bases;
    this.#values = values;
  }

  build(results: readonly ValueId[], operands: readonly ValueId[]): StagedBody | null {
    if (!this.isApart()) return null;
    // A sum over rows has no memory within a block of rows.
    const shown = new Set(results.map((id) => this.#bases.of(id)));
    if ([...this.#sums()].some((id) => !shown.has(id))) return null;
    const slots = this.#slots(shown);
    const resultOf = new Map(results.map((id, index) => [this.#bases.of(id), index]));
    const operandOf = new Map(operands.map((id, index) => [id, index]));
    const place = (id: ValueId): StagePlace => {
      const base = this.#bases.of(id);
      const result = resultOf.get(base);
      if (result !== undefined) return { kind: 'result', index: result };
      const operand = operandOf.get(base);
      if (operand !== undefined) return { kind: 'operand', index: operand };
      return { kind: 'inner', slot: slots.of.get(base)! };
    };
    const least = Math.max(
      ...this.#parts.map(({ cut }) => Math.ceil(cut.least / (cut.count / this.#rows))),
    );
    const { inputs, outputs } = this.#parts[0]!.part;
    const { device } = this.#values[[...outputs, ...inputs][0]!]!;
    const bytes = slots.bytes.reduce((sum, each) => sum + each, 0);
    const room = device.innerBytes - slots.bytes.length * slotAlignment;
    if (Math.min(this.#rows, 2 * least) * bytes > room) return null;
    const stages = this.#parts.map(({ part, index, cut }): Stage => {
      const written = writtenValues(part);
      return {
        op: part.op,
        part: index,
        cut,
        inputs: part.inputs.map(place),
        outputs: written.map(place),
        dtypes: [...part.inputs, ...written].map((id) => this.#values[id]!.dtype),
      };
    });
    const touched = this.#parts.flatMap(({ part }) => [...part.inputs, ...writtenValues(part)]);
    return {
      rows: this.#rows,
      least,
      stages,
      slots: slots.bytes,
      longestRow: Math.max(...touched.map((id) => this.#rowBytes(id))),
      writes: this.#written().map((id) => operandOf.get(id)!),
      // A sum is written from the first block on, before later blocks read their operands.
      overwrites: results.map((id) =>
        this.#sums().has(this.#bases.of(id))
          ? new Set<number>()
          : this.#overwritable(id, operands, device),
      ),
    };
  }

  /** Returns the values that are sums over all rows. */
  #sums(): ReadonlySet<ValueId> {
    return new Set(this.#parts.flatMap(({ part, cut }) => (cut.accumulate ? part.outputs : [])));
  }

  /** Returns the external values that parts write in place. */
  #written(): ValueId[] {
    const defined = new Set(this.#parts.flatMap(({ part }) => part.outputs));
    const written = this.#parts.flatMap(({ part }) =>
      writtenOperands(part).map((i) => this.#bases.of(part.inputs[i]!)),
    );
    return [...new Set(written)].filter((id) => !defined.has(id));
  }

  #rowBytes(id: ValueId): number {
    const { shape, dtype, device } = this.#values[id]!;
    return Math.ceil((sizeOf(shape) * device.elementBytes(dtype)) / this.#rows);
  }

  /** Whether the slice covers all elements of the value, row after row. */
  #isWhole(slice: RowSlice | null, { count }: RowCut, id: ValueId): boolean {
    const meta = this.#values[id]!;
    const size = sizeOf(meta.shape);
    return slice !== null && isContiguousMeta(meta) && slice.step * count === size;
  }

  /** Whether all values that the parts produce and write are accessed by rows only. */
  isApart(): boolean {
    const defined = new Set(this.#parts.flatMap(({ part }) => part.outputs));
    const changing = new Set<ValueId>([...defined, ...this.#written()]);
    const sums = this.#sums();
    return this.#parts.every(({ part, cut }) => {
      const { inputs } = part;
      const reads = inputs.every((id, i) => {
        const base = this.#bases.of(id);
        if (!changing.has(base)) return true;
        if (sums.has(base)) return false;
        // A value produced here whose shape alone is read has no operand to take the shape from.
        if (defined.has(base) && operandUse(part.op, i) === 'shape') return false;
        return this.#isWhole(cut.inputs[i]!, cut, id);
      });
      const written = writtenValues(part);
      const isOwn = (id: ValueId, i: number) => this.#isWhole(cut.outputs[i] ?? null, cut, id);
      return reads && (cut.accumulate !== undefined || written.every(isOwn));
    });
  }

  /** Assigns inner memory to values that are not results, reusing the slot of a value that no later part reads. */
  #slots(results: ReadonlySet<ValueId>): { of: Map<ValueId, number>; bytes: number[] } {
    const last = new Map<ValueId, number>();
    this.#parts.forEach(({ part }, i) => {
      for (const id of [...part.inputs, ...part.outputs]) last.set(this.#bases.of(id), i);
    });
    const of = new Map<ValueId, number>();
    const bytes: number[] = [];
    const busyUntil: number[] = [];
    this.#parts.forEach(({ part }, i) => {
      for (const id of part.outputs) {
        if (results.has(id)) continue;
        const needed = this.#rowBytes(id);
        const free = busyUntil.findIndex((until, slot) => until < i && bytes[slot] === needed);
        const slot = free < 0 ? bytes.push(needed) - 1 : free;
        busyUntil[slot] = last.get(id)!;
        of.set(id, slot);
      }
    });
    return { of, bytes };
  }

  /**
   * Returns the operands whose memory the result may reuse: read by rows before the result is written. If the part that
   * writes the result reads them, its kernel must allow it.
   */
  #overwritable(
    result: ValueId,
    operands: readonly ValueId[],
    device: Device,
  ): ReadonlySet<number> {
    const base = this.#bases.of(result);
    const first = this.#parts.findIndex(({ part }) => part.outputs.includes(base));
    const written = new Set(this.#written());
    const found = operands.flatMap((operand, index) => {
      if (written.has(operand)) return [];
      const fits = this.#parts.every(({ part, cut }, at) =>
        part.inputs.every((id, i) => {
          if (this.#bases.of(id) !== operand) return true;
          if (at > first || !this.#isWhole(cut.inputs[i]!, cut, id)) return false;
          return at < first || mayOverwrite(part.op, i, device, 0);
        }),
      );
      return fits ? [index] : [];
    });
    return new Set(found);
  }
}
