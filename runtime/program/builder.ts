import { gradEnabled, noGrad } from '../autograd/grad-mode.ts';
import { apartFromTarget, recordInPlace } from '../autograd/in-place-node.ts';
import { attach, targetOf } from '../autograd/node.ts';
import { joinViews } from '../autograd/view-family.ts';
import type { Device } from '../device/device.ts';
import { invariant } from '../errors/invariant.ts';
import type { UserPosition } from '../errors/position.ts';
import { bind1, type Interceptor } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { type Attrs, type OpRecord, userName } from '../ops/core/define-op.ts';
import { settledAttrs, symbolicAttrs } from '../ops/core/symbolic-attrs.ts';
import { isSymbolic } from '../ops/numbers/symbolic-number.ts';
import { PlacedOffset } from '../random/seed.ts';
import { contiguousMeta, handedThroughMeta, type TensorMeta } from '../tensor/meta.ts';
import { sizeOf } from '../tensor/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import { aliasOp } from './alias-op.ts';
import { hasEffect, placedDraw } from './control-ops.ts';
import { FreedNodes, type OutsideNodes } from './freed-nodes.ts';
import { isListSum, listAdd } from './list-ops.ts';
import { sharedBy } from './memory-groups.ts';
import { hasOptionalResults } from './optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from './program.ts';
import { RecordedWriteInPlace } from './recorded-write.ts';
import { type OutsideMemory, ValueMemory } from './value-memory.ts';
import { writtenOperands } from './writes.ts';

/** Where a builder stood; everything appended since can be taken back. */
export interface Checkpoint {
  readonly values: number;
  readonly ops: number;
  readonly inputs: number;
  readonly writes: number;
  readonly spent: FreedNodes['soFar'];
}

/** What a region says and asks of the program around it. */
interface Outside extends OutsideMemory, OutsideNodes {}

/**
 * Appends every op that is bound to a program instead of running it. Its tensors have meta and a value
 * id, no data. A write in place is an op without output: what it wrote is seen through every value that
 * shows the same memory, by the order of the ops alone.
 */
export class ProgramBuilder implements Interceptor {
  readonly #values: TensorMeta[] = [];
  readonly #inputs: ValueId[] = [];
  readonly #ops: ProgramOp[] = [];
  /** Leaves that were made in the program. */
  readonly #ownLeaves = new Set<ValueId>();
  /** Gradients that are there or not, as the run decides. */
  readonly #optional = new Set<ValueId>();
  /** Results of control ops: their memory may be that of an operand or of another result. */
  readonly #handedThrough = new Set<ValueId>();
  readonly #onForeign: (tensor: Tensor) => Tensor;
  /** The user's position that the next ops belong to. */
  at: UserPosition | undefined;
  /** The call of `checkpoint` that the next ops belong to. */
  checkpointed: number | undefined;
  /** Calls of `checkpoint` so far. */
  checkpointCalls = 0;
  /** A backward() or grad() inside the program is being traced. */
  differentiates = false;
  /** While a program is replayed: the copy that the next write finds made already. */
  copyBefore: Tensor | null = null;

  /** What is appended is taken back: no tensor learns of it. */
  #isTrial = false;
  readonly #isRegion: boolean;
  readonly #takesTraced: boolean;
  readonly #memory: ValueMemory;
  readonly spent: FreedNodes;

  /**
   * `onForeign` answers for a tensor with data that meets traced ones: it may become an input. In a
   * region it answers for the values of the surrounding programs, too, and with `replay` for those of the
   * program that is built again. `outside`: what a region says and asks of the program around it.
   */
  constructor(
    onForeign: (tensor: Tensor) => Tensor,
    {
      region = false,
      replay = false,
      outside,
    }: {
      readonly region?: boolean;
      readonly replay?: boolean;
      readonly outside?: Outside;
    } = {},
  ) {
    this.#onForeign = onForeign;
    this.#isRegion = region;
    this.#takesTraced = region || replay;
    this.#memory = new ValueMemory((id) => this.isInput(id), outside);
    this.spent = new FreedNodes(outside);
  }

  get opCount(): number {
    return this.#ops.length;
  }

  /** The next value to be made. */
  get nextValue(): ValueId {
    return this.#values.length as ValueId;
  }

  get inputs(): readonly ValueId[] {
    return this.#inputs;
  }

  /** A new program input with these strides; a tensor with others is copied into them at run time. */
  input({ dtype, shape, strides, device }: TensorMeta): Tensor {
    const tensor = this.#newValue({ dtype, shape, strides, offset: 0, device });
    this.#inputs.push(this.valueOf(tensor));
    return tensor;
  }

  isInput(id: ValueId): boolean {
    return this.#inputs.includes(id);
  }

  /** Whether the tensor is a gradient that may be missing when the program runs. */
  isOptional(tensor: Tensor): boolean {
    return this.#optional.size > 0 && this.#optional.has(this.valueOf(tensor));
  }

  /** Whether the tensor is a result of a control op that may be one of its operands, or another result. */
  isHandedThrough(tensor: Tensor): boolean {
    return this.#handedThrough.has(this.rootOf(tensor));
  }

  /** Said of such a result whose memory is its own. */
  noteOwn(tensor: Tensor): void {
    this.#handedThrough.delete(this.valueOf(tensor));
  }

  /** Said of a gradient that enters the program, or that a control op answers. */
  noteOptional(tensor: Tensor, isOptional: boolean): void {
    const id = this.valueOf(tensor);
    if (isOptional) this.#optional.add(id);
    else this.#optional.delete(id);
  }

  /** Gradients that come to it are its own, and the program has made it. */
  isOwnLeaf(tensor: Tensor): boolean {
    return this.#ownLeaves.has(this.valueOf(tensor)) && tensor.isLeaf;
  }

  /** Number of elements. */
  sizeOf(id: ValueId): number {
    return sizeOf(this.#values[id]!.shape);
  }

  valueOf(tensor: Tensor): ValueId {
    const { traced } = tensor;
    if (traced?.builder === this) return traced.value as ValueId;
    invariant(!traced || this.#takesTraced, 'a tensor of another program under construction');
    return this.valueOf(this.#onForeign(tensor));
  }

  execute(op: OpRecord, inputs: readonly Tensor[], given: Attrs, device: Device): Tensor[] {
    const place: unknown = given.offset;
    if (place instanceof PlacedOffset) {
      const attrs = { ...given, seed: 0, offset: place.drawn };
      return this.execute(placedDraw(op), place.numbers, attrs, device);
    }
    const attrs = settledAttrs(given, symbolicAttrs(op));
    const ids = inputs.map((input) => this.valueOf(input));
    if (op.inPlace) {
      this.#write(op, ids, attrs, null);
      return [inputs[0]!];
    }
    const metas = ids.map((id) => this.#values[id]!);
    // Engines add gradients where none is recorded; the code's own sums are those of tensors, empty or not.
    if (!gradEnabled() && isListSum(op, metas)) return this.execute(listAdd, inputs, {}, device);
    const { kernel } = op;
    const specs =
      kernel.kind === 'view'
        ? [kernel.view([this.#baseOf(inputs[0]!), ...metas.slice(1)], attrs)]
        : op.infer(metas, attrs).map((spec) => contiguousMeta(spec, device));
    const outputs = specs.map((meta) => this.#newValue(meta));
    const made = outputs.map((output) => this.valueOf(output));
    if (kernel.kind === 'view') this.#memory.noteView(made[0]!, ids[0]!);
    if (op === aliasOp && attrs.leaf === 'own') this.#ownLeaves.add(made[0]!);
    this.#append(op, ids, made, attrs);
    if (kernel.kind === 'view' && !this.#isTrial) joinViews(inputs[0]!, outputs[0]!);
    return outputs;
  }

  /** What a view is taken of: its place may be one that each run computes. */
  #baseOf(tensor: Tensor): TensorMeta {
    const meta = this.metaOf(this.valueOf(tensor));
    const isOwn = tensor.traced?.builder === this;
    return isOwn && isSymbolic(tensor.offset) ? { ...meta, offset: tensor.offset } : meta;
  }

  recordWrite(op: OpRecord, operands: readonly Tensor[], given: Attrs): Tensor {
    const target = operands[0]!;
    // What existed before has handles that the program knows nothing of.
    const id = this.valueOf(target);
    // So has another value that a branch or loop may have left as this one.
    const hasOthers = this.isInput(this.#memory.rootOf(id)) || this.#memory.isLinked(id);
    if (this.#isRegion || hasOthers) {
      throw new RecordedWriteInPlace(userName(op));
    }
    const root = this.valueOf(target);
    const shows = (operand: Tensor) => this.#memory.mayShare(this.valueOf(operand), root);
    const inputs = apartFromTarget(op, operands, shows, (operand) => bind1(copy, [operand]));
    const attrs = settledAttrs(given, symbolicAttrs(op));
    const ids = inputs.map((input) => this.valueOf(input));
    this.#expectFit(op, ids, attrs);
    return recordInPlace(op, attrs, inputs, {
      before: () => {
        const before = this.copyBefore ?? noGrad(() => bind1(copy, [target]));
        // Backward with a history reads it as the target that it was: from there gradients go on.
        return attach(before, targetOf(target)).detach();
      },
      write: (before) => this.#write(op, ids, attrs, before && this.valueOf(before)),
    });
  }

  #write(op: OpRecord, ids: readonly ValueId[], attrs: Attrs, before: ValueId | null): void {
    this.#expectFit(op, ids, attrs);
    this.#append(op, ids, [], attrs, before === null ? {} : { before });
    this.noteWrite(ids[0]!);
  }

  /** The memory of the value has been written, by an op of this program or inside one. */
  noteWrite(id: ValueId): void {
    this.#memory.noteWrite(id);
  }

  /** How often the memory of the value has been written so far. */
  versionOf(id: ValueId): number {
    return this.#memory.versionOf(id);
  }

  /** Takes back that the last `count` writes were made. */
  forgetWrites(count: number): void {
    this.#memory.forgetWrites(count);
  }

  get writeCount(): number {
    return this.#memory.writeCount;
  }

  /** Eager execution infers first: it refuses operands that are larger than the target. */
  #expectFit(op: OpRecord, ids: readonly ValueId[], attrs: Attrs): void {
    op.infer(
      ids.map((id) => this.#values[id]!),
      attrs,
    );
  }

  /** Appends a control op; its results, and their strides, follow from the regions. */
  control(
    op: OpRecord,
    inputs: readonly Tensor[],
    attrs: Attrs,
    inside: Pick<ProgramOp, 'regions' | 'call'>,
    results: readonly TensorMeta[],
  ): Tensor[] {
    const ids = inputs.map((input) => this.valueOf(input));
    const outputs = results.map((meta) => this.#newValue(handedThroughMeta(meta)));
    const made = outputs.map((output) => this.valueOf(output));
    for (const id of made) this.#handedThrough.add(id);
    this.#append(op, ids, made, attrs, inside);
    for (const shared of sharedBy(this.#ops.at(-1)!, 'memory')) this.#memory.noteShared(shared);
    for (const index of writtenOperands({ op, ...inside })) this.noteWrite(ids[index]!);
    return outputs;
  }

  /** Some op runs even if its results are unused. */
  hasEffect(since = 0): boolean {
    return this.#ops.some((op, i) => i >= since && hasEffect(op));
  }

  metaOf(id: ValueId): TensorMeta {
    return this.#values[id]!;
  }

  /** The value whose memory this one shows: itself, unless it is a view. */
  rootOf(tensor: Tensor): ValueId {
    return this.#memory.rootOf(this.valueOf(tensor));
  }

  checkpoint(): Checkpoint {
    return {
      values: this.#values.length,
      ops: this.#ops.length,
      inputs: this.#inputs.length,
      writes: this.writeCount,
      spent: this.spent.soFar,
    };
  }

  /** Takes back whatever `body` appends. */
  trial<T>(body: () => T): T {
    const checkpoint = this.checkpoint();
    const outer = this.#isTrial;
    this.#isTrial = true;
    try {
      return body();
    } finally {
      this.#isTrial = outer;
      this.rollback(checkpoint);
    }
  }

  rollback(to: Checkpoint): void {
    this.#memory.rollback(to.values as ValueId, to.writes);
    this.#values.length = to.values;
    for (const ids of [this.#optional, this.#handedThrough]) {
      for (const id of ids) if (id >= to.values) ids.delete(id);
    }
    this.#ops.length = to.ops;
    this.#inputs.length = to.inputs;
    this.spent.rollback(to.spent);
  }

  /** Ops from this one on, in their order. */
  opsFrom(index: number): readonly ProgramOp[] {
    return this.#ops.slice(index);
  }

  finish(outputs: readonly ValueId[]): Program {
    const { values, inputs, ops } = { values: this.#values, inputs: this.#inputs, ops: this.#ops };
    return { values: [...values], inputs: [...inputs], ops: [...ops], outputs };
  }

  #append(
    op: OpRecord,
    inputs: readonly ValueId[],
    outputs: readonly ValueId[],
    attrs: Attrs,
    more: Pick<ProgramOp, 'regions' | 'before' | 'call'> = {},
  ): void {
    const { at, checkpointed: checkpoint } = this;
    if (hasOptionalResults({ op, inputs }, this.#optional)) {
      for (const id of outputs) this.#optional.add(id);
    }
    const call = checkpoint === undefined ? {} : { checkpoint };
    const backward = this.differentiates ? ({ backward: true } as const) : {};
    this.#ops.push({
      op,
      inputs,
      outputs,
      attrs,
      recordsGrad: gradEnabled(),
      at,
      ...call,
      ...backward,
      ...more,
    });
  }

  /** A view whose place is computed in each run has a symbolic offset; its value has the present one. */
  #newValue(meta: TensorMeta): Tensor {
    const { offset } = meta;
    const known = isSymbolic(offset) ? { ...meta, offset: offset.value } : meta;
    const value = (this.#values.push(known) - 1) as ValueId;
    const version = () => this.#memory.versionOf(value);
    const sharing = () => this.#memory.sharing(value);
    return new Tensor(meta, null, { builder: this, value, version, sharing });
  }
}
