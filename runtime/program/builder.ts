import { gradEnabled, noGrad } from '../autograd/grad-mode.ts';
import { apartFromTarget, recordInPlace } from '../autograd/in-place-node.ts';
import { joinViews } from '../autograd/view-family.ts';
import type { Device } from '../device/device.ts';
import { type Attrs, userName } from '../device/kernel-op.ts';
import { resolvedAttrs, symbolicAttrs } from '../device/symbolic-attrs.ts';
import { contiguousMeta, passedThroughMeta, type TensorMeta } from '../device/tensor-meta.ts';
import { invariant } from '../errors/invariant.ts';
import type { UserPosition } from '../errors/position.ts';
import { bind1, type Interceptor } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { isSymbolic } from '../ops/numbers/symbolic-number.ts';
import type { OpRecord } from '../ops/record/define-op.ts';
import { isOverwritten, type OperandSharing } from '../ops/record/operand-sharing.ts';
import { PlacedOffset } from '../random/seed.ts';
import { sizeOf } from '../spec/shape.ts';
import { attach, targetOf } from '../tensor/grad-node.ts';
import { Tensor } from '../tensor/tensor.ts';
import { aliasOp } from './alias-op.ts';
import { isChecked } from './checks.ts';
import { placedDraw } from './control-ops.ts';
import { FreedNodes, type OutsideNodes } from './freed-nodes.ts';
import { isListSum, listAdd } from './list-ops.ts';
import { sharedBy } from './memory-groups.ts';
import { hasOptionalResults } from './optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from './program.ts';
import { RecordedWriteInPlace } from './recorded-write.ts';
import { type OutsideMemory, ValueMemory } from './value-memory.ts';
import { writtenOperands } from './writes.ts';

/** A builder state to which everything appended later can be rolled back. */
interface Checkpoint {
  readonly values: number;
  readonly ops: number;
  readonly inputs: number;
  readonly writes: number;
  readonly freedNodes: FreedNodes['soFar'];
}

/** The interface of a region's builder to the surrounding program. */
interface Outside extends OutsideMemory, OutsideNodes {}

/**
 * Appends every bound op to a program instead of running it. Its tensors have meta and a value id, but no data. An
 * in-place write is an op without output: its effect is visible through every value that shares the memory, and
 * only the order of the ops determines which reads see it.
 */
export class ProgramBuilder implements Interceptor {
  readonly #values: TensorMeta[] = [];
  readonly #inputs: ValueId[] = [];
  readonly #ops: ProgramOp[] = [];
  /** The index of the first check: searching all ops for each gradient takes quadratic time. */
  #firstCheck = Number.POSITIVE_INFINITY;
  /** Leaves created in the program. */
  readonly #ownLeaves = new Set<ValueId>();
  /** Optional gradients. */
  readonly #optional = new Set<ValueId>();
  /** Results of control ops that may alias an operand or another result. */
  readonly #handedThrough = new Set<ValueId>();
  readonly #onForeign: (tensor: Tensor) => Tensor;
  /** The user-code position of the ops appended next. */
  at: UserPosition | undefined;
  /** The number of the `checkpoint` call around the ops appended next. */
  checkpointed: number | undefined;
  /** The number of `checkpoint` calls so far. */
  checkpointCalls = 0;
  /** Whether a backward() or grad() inside the program is being traced. */
  differentiates = false;
  /** During replay, the existing copy for the next write. */
  copyBefore: Tensor | null = null;

  /** Whether appended ops will be rolled back; tensors are then not updated. */
  #isTrial = false;
  readonly #takesTraced: boolean;
  /** The memory of the values: views, shared memory and writes. */
  readonly memory: ValueMemory;
  readonly freedNodes: FreedNodes;

  /**
   * `onForeign` returns the traced value for a tensor with data, which may become an input. In a region it also
   * does so for values of surrounding programs, and with `replay` for values of the program being rebuilt.
   * `outside` is the interface to the surrounding program.
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
    this.#takesTraced = region || replay;
    this.memory = new ValueMemory((id) => this.isInput(id), outside);
    this.freedNodes = new FreedNodes(outside);
  }

  get opCount(): number {
    return this.#ops.length;
  }

  get nextValue(): ValueId {
    return this.#values.length as ValueId;
  }

  get inputs(): readonly ValueId[] {
    return this.#inputs;
  }

  /** Adds a program input with these strides; a tensor with other strides is copied at run time. */
  input({ dtype, shape, strides, device }: TensorMeta): Tensor {
    const tensor = this.#newValue({ dtype, shape, strides, offset: 0, device });
    this.#inputs.push(this.valueOf(tensor));
    return tensor;
  }

  isInput(id: ValueId): boolean {
    return this.#inputs.includes(id);
  }

  /** Whether the tensor is an optional gradient: one that may be missing at run time. */
  isOptional(tensor: Tensor): boolean {
    return this.#optional.size > 0 && this.#optional.has(this.valueOf(tensor));
  }

  /** Whether the tensor is a result of a control op that may alias an operand or another result. */
  isHandedThrough(tensor: Tensor): boolean {
    return this.#handedThrough.has(this.rootOf(tensor));
  }

  /** Notes that a control op's result doesn't alias. */
  noteUnaliased(tensor: Tensor): void {
    this.#handedThrough.delete(this.valueOf(tensor));
  }

  /** Notes whether a gradient that is a program input or a control op's result is optional. */
  noteOptional(tensor: Tensor, isOptional: boolean): void {
    const id = this.valueOf(tensor);
    if (isOptional) this.#optional.add(id);
    else this.#optional.delete(id);
  }

  /** Whether the tensor is a leaf created by the program. */
  isOwnLeaf(tensor: Tensor): boolean {
    return this.#ownLeaves.has(this.valueOf(tensor)) && tensor.isLeaf;
  }

  /** Returns the number of elements. */
  sizeOf(id: ValueId): number {
    return sizeOf(this.#values[id]!.shape);
  }

  valueOf(tensor: Tensor): ValueId {
    const { traced } = tensor;
    if (traced?.builder === this) return traced.value as ValueId;
    invariant(!traced || this.#takesTraced, 'a tensor of another program under construction');
    return this.valueOf(this.#onForeign(tensor));
  }

  execute(
    op: OpRecord,
    inputs: readonly Tensor[],
    unresolvedAttrs: Attrs,
    device: Device,
  ): Tensor[] {
    const place: unknown = unresolvedAttrs.offset;
    if (place instanceof PlacedOffset) {
      const attrs = { ...unresolvedAttrs, seed: 0, offset: place.drawn };
      return this.execute(placedDraw(op), place.numbers, attrs, device);
    }
    const attrs = resolvedAttrs(unresolvedAttrs, symbolicAttrs(op));
    const ids = inputs.map((input) => this.valueOf(input));
    if (op.inPlace) {
      this.#expectFit(op, ids, attrs);
      const operands = this.#apartFromTarget(op, inputs, false);
      const written = operands === inputs ? ids : operands.map((each) => this.valueOf(each));
      this.#write(op, written, attrs, null);
      return [inputs[0]!];
    }
    const metas = ids.map((id) => this.#values[id]!);
    // An unrecorded sum is the engine's, of gradients; a sum in user code is one of tensors, even if they are empty.
    if (!gradEnabled() && isListSum(op, metas)) return this.execute(listAdd, inputs, {}, device);
    const { kernel } = op;
    const specs =
      kernel.kind === 'view'
        ? [kernel.view([this.#placeOf(inputs[0]!), ...metas.slice(1)], attrs)]
        : op.infer(metas, attrs).map((spec) => contiguousMeta(spec, device));
    const outputs = specs.map((meta) => this.#newValue(meta));
    const outputIds = outputs.map((output) => this.valueOf(output));
    if (kernel.kind === 'view') this.memory.noteView(outputIds[0]!, ids[0]!);
    if (op === aliasOp && attrs.leaf === 'own') this.#ownLeaves.add(outputIds[0]!);
    this.#append(op, ids, outputIds, attrs);
    // `detach()` takes no view.
    const isView = kernel.kind === 'view' && (op !== aliasOp || gradEnabled());
    if (isView && !this.#isTrial) joinViews(inputs[0]!, outputs[0]!);
    return outputs;
  }

  /** Returns shape and strides in this program; the offset may be computed per run. */
  #placeOf(tensor: Tensor): TensorMeta {
    const meta = this.metaOf(this.valueOf(tensor));
    const isOwn = tensor.traced?.builder === this;
    return isOwn && isSymbolic(tensor.offset) ? { ...meta, offset: tensor.offset } : meta;
  }

  recordWrite(op: OpRecord, operands: readonly Tensor[], unresolvedAttrs: Attrs): Tensor {
    const target = operands[0]!;
    // Pre-existing memory has handles unknown to the program.
    const id = this.valueOf(target);
    // A branch or loop may have merged this value with another one.
    const hasOthers = this.isInput(this.memory.rootOf(id)) || this.memory.isLinked(id);
    if (hasOthers) throw new RecordedWriteInPlace(userName(op));
    const inputs = this.#apartFromTarget(op, operands, true);
    const attrs = resolvedAttrs(unresolvedAttrs, symbolicAttrs(op));
    const ids = inputs.map((input) => this.valueOf(input));
    this.#expectFit(op, ids, attrs);
    return recordInPlace(op, attrs, inputs, {
      before: () => {
        const before = this.copyBefore ?? noGrad(() => bind1(copy, [target]));
        // A recorded backward reads the copy as the old target, with the target's history.
        return attach(before, targetOf(target)).detach();
      },
      write: (before) => this.#write(op, ids, attrs, before && this.valueOf(before)),
    });
  }

  /** Returns the operands of a write, copying each operand that the write would overwrite before it is read. */
  #apartFromTarget(
    op: OpRecord,
    operands: readonly Tensor[],
    recorded: boolean,
  ): readonly Tensor[] {
    const sharing = (target: Tensor, operand: Tensor) => this.#sharingWith(target, operand);
    return apartFromTarget(op, operands, recorded, sharing, (operand) => bind1(copy, [operand]));
  }

  #sharingWith(target: Tensor, operand: Tensor): OperandSharing {
    const [to, from] = [this.valueOf(target), this.valueOf(operand)];
    if (to === from) return 'sameMemory';
    if (!this.memory.mayShare(to, from)) return 'apart';
    // How the elements of two values overlap is only known for views of one root.
    if (this.memory.rootOf(to) !== this.memory.rootOf(from)) return 'overlapping';
    return isOverwritten(this.#placeOf(target), this.#placeOf(operand))
      ? 'overlapping'
      : 'sameMemory';
  }

  #write(op: OpRecord, ids: readonly ValueId[], attrs: Attrs, before: ValueId | null): void {
    this.#append(op, ids, [], attrs, before === null ? {} : { before });
    this.memory.noteWrite(ids[0]!);
  }

  /** Infers the result first, like eager execution, which rejects operands larger than the target. */
  #expectFit(op: OpRecord, ids: readonly ValueId[], attrs: Attrs): void {
    op.infer(
      ids.map((id) => this.#values[id]!),
      attrs,
    );
  }

  /** Appends a control op; its results and their strides follow from the regions. */
  control(
    op: OpRecord,
    inputs: readonly Tensor[],
    attrs: Attrs,
    inside: Pick<ProgramOp, 'regions' | 'call'>,
    results: readonly TensorMeta[],
  ): Tensor[] {
    const ids = inputs.map((input) => this.valueOf(input));
    const outputs = results.map((meta) => this.#newValue(passedThroughMeta(meta)));
    const outputIds = outputs.map((output) => this.valueOf(output));
    for (const id of outputIds) this.#handedThrough.add(id);
    this.#append(op, ids, outputIds, attrs, inside);
    for (const shared of sharedBy(this.#ops.at(-1)!, 'memory')) this.memory.noteShared(shared);
    for (const index of writtenOperands({ op, ...inside })) this.memory.noteWrite(ids[index]!);
    return outputs;
  }

  /** Whether any op since then passes the test. */
  some(test: (op: ProgramOp) => boolean, since = 0): boolean {
    return this.opsFrom(since).some(test);
  }

  /** Whether any op is a check of a decision, or contains one. */
  get hasChecks(): boolean {
    return this.#firstCheck < this.#ops.length;
  }

  metaOf(id: ValueId): TensorMeta {
    return this.#values[id]!;
  }

  /** Returns the value that owns the memory: the value itself unless it is a view. */
  rootOf(tensor: Tensor): ValueId {
    return this.memory.rootOf(this.valueOf(tensor));
  }

  checkpoint(): Checkpoint {
    return {
      values: this.#values.length,
      ops: this.#ops.length,
      inputs: this.#inputs.length,
      writes: this.memory.writeCount,
      freedNodes: this.freedNodes.soFar,
    };
  }

  /** Runs `body`, then rolls back everything it appended. */
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
    this.memory.rollback(to.values as ValueId, to.writes);
    this.#values.length = to.values;
    for (const ids of [this.#optional, this.#handedThrough]) {
      for (const id of ids) if (id >= to.values) ids.delete(id);
    }
    this.#ops.length = to.ops;
    if (this.#firstCheck >= to.ops) this.#firstCheck = Number.POSITIVE_INFINITY;
    this.#inputs.length = to.inputs;
    this.freedNodes.rollback(to.freedNodes);
  }

  /** Returns the ops from this index on, in order. */
  opsFrom(index: number): readonly ProgramOp[] {
    return this.#ops.slice(index);
  }

  finish(outputs: readonly ValueId[]): Program {
    return { values: [...this.#values], inputs: [...this.#inputs], ops: [...this.#ops], outputs };
  }

  #append(
    op: OpRecord,
    inputs: readonly ValueId[],
    outputs: readonly ValueId[],
    attrs: Attrs,
    more: Pick<ProgramOp, 'regions' | 'before' | 'call'> = {},
  ): void {
    const { at, checkpointed: checkpoint } = this;
    const mayMiss = op.optional || this.#optional.size > 0;
    if (mayMiss && hasOptionalResults({ op, inputs }, this.#optional)) {
      for (const id of outputs) this.#optional.add(id);
    }
    const call = checkpoint === undefined ? {} : { checkpoint };
    const backward = this.differentiates ? ({ backward: true } as const) : {};
    const mayCheck = op.kernel.kind === 'control' && !this.hasChecks;
    if (mayCheck && isChecked({ op, ...more })) this.#firstCheck = this.#ops.length;
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

  /** Adds a value. A view whose offset is computed per run gets a symbolic offset; its meta has the current one. */
  #newValue(meta: TensorMeta): Tensor {
    const { offset } = meta;
    const known = offset !== 0 && isSymbolic(offset) ? { ...meta, offset: offset.value } : meta;
    const value = (this.#values.push(known) - 1) as ValueId;
    const version = () => this.memory.versionOf(value);
    const sharing = () => this.memory.sharing(value);
    return new Tensor(meta, null, { builder: this, value, version, sharing });
  }
}
