import { invariant } from '../../../errors/invariant.ts';
import type { Shape } from '../../../spec/shape.ts';
import type { Device, Launch, Operand } from '../../device.ts';
import { type ArenaMemory, Holder } from '../../holder.ts';
import { innerBytes, slotAlignment } from '../../inner-bytes.ts';
import type { Attrs, AttrValue, KernelOp } from '../../kernel-op.ts';
import {
  type RowSlice,
  type Stage,
  type StagedBody,
  type StagePlace,
  stageAttr,
} from '../../staged-body.ts';
import { launchAttrs } from '../../symbolic-attrs.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { innerAt } from '../core/heap.ts';
import { pool } from '../threads/pool.ts';

/**
 * The size of a block's longest value: small enough for the L1 and L2 caches, large enough for the calls to pay off.
 */
const blockBytes = 64 << 10;
/** The size of that value if several threads share each stage: large enough for waking them to pay off. */
const sharedBlockBytes = 4 << 20;

/** The location of inner memory; replaced while kernels are recorded for a module. */
export const innerGround: ArenaMemory = { alloc: (offset) => innerAt + offset, free: () => {} };

/** A few rows of an operand, advanced from block to block. */
class BlockOperand implements Operand {
  holder: Holder | null = null;
  offset = 0;
}

/** An operand of the launch, and its step. */
interface SteppedOperand {
  readonly to: BlockOperand;
  readonly isInput: boolean;
  readonly index: number;
  /** The number of elements between rows. */
  readonly step: number;
}

/** A stage bound to blocks of a fixed number of rows. */
interface BoundStage {
  readonly launch: Launch;
  /** The launch for all blocks except the first, if the stage sums over rows. */
  readonly accumulate: Launch | null;
  readonly inputs: readonly BlockOperand[];
  readonly outputs: readonly BlockOperand[];
  readonly own: Record<string, AttrValue>;
  /** The numbers it receives at each launch: by its own names, and by those of the staged op. */
  readonly numbers: readonly (readonly [own: string, name: string])[];
  /** Numbers it receives for each block, which increase from row to row. */
  readonly advancing: readonly AddressIncrement[];
}

interface AddressIncrement {
  readonly own: string;
  /** Its name in the staged op. */
  readonly name: string;
  /** The increment of the address per row of the staged op. */
  readonly step: number;
}

interface BoundBlock {
  readonly stages: readonly BoundStage[];
  readonly moving: readonly SteppedOperand[];
}

/**
 * Binds a staged op: the kernels of its stages, bound to a few rows, are called for one block of rows after the other.
 * Kernels compute each row independently of others, so the block size doesn't change a bit.
 */
export function staged(
  body: StagedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  device: Device,
): Launch {
  const binder = new BlockBinder(body, inputs, outputs, attrs, device);
  const run = (bound: BoundBlock, row: number, launch: LaunchOperands): void => {
    const { now } = launch;
    for (const { to, isInput, index, step } of bound.moving) {
      const operand = (isInput ? launch.inputs : launch.outputs)[index]!;
      to.holder = operand.holder;
      to.offset = operand.offset + row * step;
    }
    for (const stage of bound.stages) {
      const { own, numbers, advancing } = stage;
      if (now) for (const [name, from] of numbers) own[name] = now[from]!;
      for (const { own: name, name: from, step } of advancing) {
        own[name] = ((now ?? attrs)[from] as number) + row * step;
      }
      const isTold = advancing.length > 0 || (now !== undefined && numbers.length > 0);
      const { inputs, outputs, accumulate } = stage;
      if (row > 0 && accumulate) accumulate([...outputs, ...inputs], outputs);
      else stage.launch(inputs, outputs, isTold ? own : undefined);
    }
  };
  const { rows } = body;
  const [alone, shared] = [blockCount(body, false), blockCount(body, true)];
  return (sources, targets, now) => {
    const operands = { inputs: sources, outputs: targets, now };
    const blocks = pool.threads > 1 ? shared : alone;
    const height = Math.floor(rows / blocks);
    const higher = rows % blocks;
    let row = 0;
    for (let block = 0; block < blocks; block++) {
      const blockRows = height + (block < higher ? 1 : 0);
      run(binder.at(blockRows), row, operands);
      row += blockRows;
    }
  };
}

interface LaunchOperands {
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
  readonly now: Attrs | undefined;
}

/** Returns the number of blocks of about equal height, with at least as many rows as stages need. */
export function blockCount(
  { rows, least, slots, longestRow }: Pick<StagedBody, 'rows' | 'least' | 'slots' | 'longestRow'>,
  isShared: boolean,
): number {
  const fitting = Math.floor((isShared ? sharedBlockBytes : blockBytes) / longestRow);
  const perRow = slots.reduce((sum, bytes) => sum + bytes, 0);
  const aligned = innerBytes - slots.length * slotAlignment;
  // A block's height is below twice the requested size.
  const most = perRow > 0 ? Math.floor(aligned / perRow / 2) : rows;
  const size = Math.max(1, least, Math.min(fitting, most));
  return Math.max(1, Math.floor(rows / size));
}

/** Restricts an op to rows: a fused op has the shape of its elements in its body, like its operands. */
function overRows(op: KernelOp, shape: Shape): KernelOp {
  const { kernel } = op;
  if (kernel.kind !== 'fused') return op;
  return { ...op, kernel: { ...kernel, body: { ...kernel.body, shape } } };
}

class BlockBinder {
  readonly #body: StagedBody;
  readonly #inputs: readonly TensorMeta[];
  readonly #outputs: readonly TensorMeta[];
  readonly #attrs: Attrs;
  readonly #device: Device;
  readonly #bound = new Map<number, BoundBlock>();

  constructor(
    body: StagedBody,
    inputs: readonly TensorMeta[],
    outputs: readonly TensorMeta[],
    attrs: Attrs,
    device: Device,
  ) {
    this.#body = body;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#attrs = attrs;
    this.#device = device;
  }

  /** Returns the stages, bound to this many rows. */
  at(rows: number): BoundBlock {
    let bound = this.#bound.get(rows);
    if (!bound) {
      bound = this.#bind(rows);
      this.#bound.set(rows, bound);
    }
    return bound;
  }

  #bind(rows: number): BoundBlock {
    const holders = this.#slots(rows);
    const moving: SteppedOperand[] = [];
    const stages = this.#body.stages.map((stage): BoundStage => {
      const { cut, op, part } = stage;
      const perRow = cut.count / this.#body.rows;
      const operand = (place: StagePlace, slice: RowSlice | null): BlockOperand => {
        const to = new BlockOperand();
        if (place.kind === 'inner') to.holder = holders[place.slot]!;
        else {
          const { kind, index } = place;
          moving.push({
            to,
            isInput: kind === 'operand',
            index,
            step: (slice?.step ?? 0) * perRow,
          });
        }
        return to;
      };
      const numbers = [...launchAttrs(op)].map((name) => [name, stageAttr(part, name)] as const);
      const attrs = { ...cut.attrs(rows * perRow) };
      for (const [name, from] of numbers) {
        const value = this.#attrs[from];
        if (value !== undefined) attrs[name] = value;
      }
      const advancing = Object.entries(cut.advances ?? {}).map(([own, step]): AddressIncrement => {
        return { own, name: stageAttr(part, own), step: step * perRow };
      });
      const metas = this.#metas(stage, rows * perRow);
      const count = stage.inputs.length;
      const [read, made] = [metas.slice(0, count), metas.slice(count)];
      const { accumulate } = cut;
      return {
        launch: this.#device.prepare(overRows(op, metas[0]!.shape), read, made, attrs),
        accumulate: accumulate
          ? this.#device.prepare(accumulate, [...made, ...read], made, attrs)
          : null,
        inputs: stage.inputs.map((place, i) => operand(place, cut.inputs[i]!)),
        outputs: stage.outputs.map((place, i) => operand(place, cut.outputs[i]!)),
        own: attrs,
        numbers,
        advancing,
      };
    });
    return { stages, moving };
  }

  #metas({ inputs, outputs, cut, dtypes: kinds }: Stage, rows: number): TensorMeta[] {
    const slices = [...cut.inputs, ...cut.outputs];
    return [...inputs, ...outputs].map((place, i): TensorMeta => {
      const slice = slices[i]!;
      const dtype = kinds[i]!;
      if (!slice) return this.#whole(place);
      const { shape, strides, step } = slice;
      return {
        dtype,
        shape: [rows, ...shape],
        strides: [step, ...strides],
        offset: 0,
        device: this.#device,
      };
    });
  }

  #whole(place: StagePlace): TensorMeta {
    invariant(place.kind !== 'inner', 'a row that reads all rows of a block');
    return place.kind === 'operand' ? this.#inputs[place.index]! : this.#outputs[place.index]!;
  }

  /** Returns inner memory for this many rows, slot by slot. */
  #slots(rows: number): Holder[] {
    let at = 0;
    return this.#body.slots.map((bytes) => {
      const holder = new Holder(this.#device, bytes * rows, innerGround, at);
      at += Math.ceil((bytes * rows) / slotAlignment) * slotAlignment;
      return holder;
    });
  }
}
