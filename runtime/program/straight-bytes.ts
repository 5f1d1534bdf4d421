import { alignedBytes } from '../memory/allocator.ts';
import { isFused } from '../ops/define-op.ts';
import { sizeOf } from '../tensor/shape.ts';
import { copiedInputs } from './checks.ts';
import type { Plan, PlannedSubgraph, PredictedMemory, Step } from './plan.ts';
import type { ValueId, ValueTable } from './program.ts';

/** One allocation of a run: 0 bytes where it is the caller's. */
interface Piece {
  readonly bytes: number;
  owners: number;
}

/**
 * The bytes of a plan that somebody else made, forward, as the allocator will count them: its steps are
 * followed, owner by owner. Null where a branch or loop decides what a run takes. How low another order could
 * go is not looked for.
 */
export function straightBytes({ values, forward }: PlannedSubgraph): PredictedMemory | null {
  if (forward.steps.some(({ op }) => op.op.kernel.kind === 'control')) return null;
  const run = new StraightRun(values);
  const copied = copiedInputs(forward).map((i) => run.bytesOf(forward.inputs[i]!));
  const copiedBytes = copied.reduce((sum, bytes) => sum + bytes, 0);
  const { peak, live, outputBytes } = run.follow(forward);
  return {
    peakBytes: peak + copiedBytes,
    lowerBoundBytes: 0,
    savedBytes: live - outputBytes,
    outputBytes,
    copiedBytes,
  };
}

class StraightRun {
  readonly #values: ValueTable;
  readonly #pieces = new Map<ValueId, Piece>();
  #live = 0;
  #peak = 0;

  constructor(values: ValueTable) {
    this.#values = values;
  }

  bytesOf(id: ValueId): number {
    const { dtype, shape, device } = this.#values[id]!;
    return alignedBytes(sizeOf(shape) * device.elementBytes(dtype));
  }

  follow({ inputs, unusedInputs, steps, outputs, freesAtEnd }: Plan) {
    const unused = new Set(unusedInputs);
    for (const id of inputs) {
      if (!unused.has(id)) this.#pieces.set(id, { bytes: 0, owners: 2 });
    }
    for (const step of steps) this.#step(step);
    const held = new Set(outputs.map((id) => this.#pieces.get(id)!));
    for (const piece of held) piece.owners++;
    for (const id of freesAtEnd) this.#drop(id);
    const outputBytes = [...held].reduce((sum, { bytes }) => sum + bytes, 0);
    return { peak: this.#peak, live: this.#live, outputBytes };
  }

  #step({ op, reuses, frees }: Step): void {
    const isView = op.op.kernel.kind === 'view';
    op.outputs.forEach((id, i) => {
      const base = isView ? op.inputs[0]! : (reuses[i] ?? null);
      if (base === null) {
        this.#pieces.set(id, { bytes: this.bytesOf(id), owners: 1 });
        this.#live += this.bytesOf(id);
      } else {
        const piece = this.#pieces.get(base)!;
        piece.owners++;
        this.#pieces.set(id, piece);
      }
    });
    this.#peak = Math.max(this.#peak, this.#live + this.#scratchBytes(op));
    for (const id of frees) this.#drop(id);
  }

  /** What the device takes while the op runs. */
  #scratchBytes({ op, inputs, outputs, attrs }: Step['op']): number {
    if (op.kernel.kind === 'view' || isFused(op.kernel)) return 0;
    const metas = (ids: readonly ValueId[]) => ids.map((id) => this.#values[id]!);
    const device = this.#values[outputs[0] ?? inputs[0]!]!.device;
    const written = op.inPlace ? inputs.slice(0, 1) : outputs;
    return device.scratchBytes(op, metas(inputs), metas(written), attrs);
  }

  #drop(id: ValueId): void {
    const piece = this.#pieces.get(id);
    if (!piece) return;
    this.#pieces.delete(id);
    if (--piece.owners === 0) this.#live -= piece.bytes;
  }
}
