/** The user's tensors that are inputs of the program, and the variables of graph values. */

import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { contiguousStrides } from '../../../runtime/spec/shape.ts';
import { disposedError } from '../../../runtime/tensor/disposed-error.ts';
import { requireGrad } from '../../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberHistory } from '../../guards/number-history.ts';
import { dimSource, type Source, strideSource } from '../../guards/source.ts';
import { sourceKey } from '../../guards/source-key.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { type ElementPath, elementSource, indexIn, OuterTensors } from '../inputs/outer-tensors.ts';
import type { TensorInput } from '../inputs/trace-input.ts';
import { outerTensor, type TensorVariable, tracedTensor } from '../variables/variable.ts';
import { asOp } from './op-error.ts';
import { sizeSource } from './symbolic-guards.ts';
import type { Tracer } from './tracer.ts';
import { constantOf } from './value-guards.ts';

/** The part of a tensor that is read: `layout` includes its dtype and flags. */
export type Reads = 'data' | 'layout';

export class TensorInputs {
  /** In the order of the program's inputs. */
  readonly list: TensorInput[] = [];
  readonly #byTraced = new Map<Tensor, TensorVariable>();
  /** The user's tensors that are already inputs. */
  readonly #inputOf = new Map<Tensor, TensorVariable>();
  /** All variables that refer to the same user tensor. */
  readonly #variablesOf = new Map<Tensor, TensorVariable[]>();
  /** Tensors in pre-existing arrays, by the array's source. */
  readonly #lists = new Map<string, OuterTensors>();
  readonly #t: Tracer;
  readonly #builder: ProgramBuilder;
  readonly #history: NumberHistory;

  constructor(t: Tracer, builder: ProgramBuilder, history: NumberHistory) {
    this.#t = t;
    this.#builder = builder;
    this.#history = history;
  }

  #refuse(disposed: Tensor): void {
    asOp(this.#t, () => {
      throw disposedError(disposed, 'a captured function');
    });
  }

  /**
   * Returns the graph value; an outer tensor becomes an input with a guard on its meta. Throws for the data of a tensor
   * that the function has disposed, which keeps its layout.
   */
  use(variable: TensorVariable, reads: Reads): Tensor {
    const { actual, source, traced: made } = variable;
    const { disposed } = this.#t.effects;
    const disposal = reads === 'data' ? disposed.get((actual ?? made)!) : undefined;
    if (disposal?.when) {
      throw new GraphBreak('branch-effect', 'a tensor is used that a branch may have disposed of');
    }
    if (disposal) this.#refuse((actual ?? made)!);
    if (made) {
      if (!variable.isIdentityUnknown) this.#t.rows?.expectOther(made);
      return made;
    }
    invariant(actual && source, 'a tensor is traced or has a source');
    if (!actual.holder) {
      // Another call may pass a tensor with data, for which the op doesn't throw.
      constantOf(this.#t, this.#t.read({ kind: 'property', base: source, key: 'disposed' }, true));
      this.#refuse(actual);
    }
    const known = this.#inputOf.get(actual);
    if (known) {
      this.#t.rows?.expectOther(known.traced!);
      this.#useAlone(known, source);
      // Each tensor is a single input, so that its gradient is summed in eager execution's order.
      const other = this.#inputAt(actual).source;
      const key = `same ${sourceKey(source)} ${sourceKey(other)}`;
      if (sourceKey(source) !== sourceKey(other)) {
        this.#t.guard(key, { kind: 'same', source, other, same: true });
      }
      this.#t.journal.noteInput(() => {
        variable.traced = null;
      });
      // An op on a single element can't be replayed for another number of elements.
      if (this.#isOfList(actual)) this.#t.sizes.fixed = true;
      variable.traced = known.traced;
      this.#variablesOf.get(actual)!.push(variable);
      return known.traced!;
    }
    this.#guardMeta(source, actual);
    const traced = this.#add(variable, actual, source, null);
    this.#findSizes(source, traced);
    return traced;
  }

  #guardMeta(source: Source, actual: Tensor): void {
    const { dtype, shape, device, requiresGrad, isContiguous } = actual;
    const strides = isContiguous ? null : actual.strides;
    const guard = { source, dtype, shape, strides, device, requiresGrad } as const;
    this.#t.guard(`tensor ${sourceKey(source)}`, { kind: 'tensor', ...guard });
  }

  /** Makes a tensor of a list a separate input if the source reads it by its index. */
  #useAlone({ actual, traced }: TensorVariable, source: Source): void {
    const i = this.list.findIndex((each) => each.actual === actual);
    const input = this.list[i]!;
    if (!input.list || indexIn(input.list, source, input.list.recorded.length) === undefined)
      return;
    this.#t.journal.noteInput(() => {
      if (this.list[i]?.actual === actual) this.list[i] = input;
    });
    this.list[i] = { ...input, source, list: null };
    this.#guardMeta(source, actual!);
    this.#findSizes(source, traced!);
  }

  /**
   * Makes the tensors at a path in the elements of a pre-existing array inputs, whose number may vary between calls.
   * Adds no guards, since the array's layout (`layoutSource`) is a key of the programs. Returns undefined if one of the
   * tensors is already an input.
   */
  useAll(source: Source, actuals: readonly Tensor[], at: ElementPath): OuterTensors | undefined {
    const key = sourceKey(elementSource(source, '*', at.path));
    const known = this.#lists.get(key);
    if (known) return known;
    const { disposed } = this.#t.effects;
    const recorded: Tensor[] = [];
    const list = new OuterTensors(source, at, recorded);
    // An input that is read by its index in this array is also one of its tensors.
    const aloneAt = actuals.map((actual, i) => {
      const input = this.#inputOf.has(actual) ? this.#inputAt(actual) : undefined;
      const isElement = input && indexIn(list, input.source, actuals.length) === i;
      return isElement && this.#inputOf.get(actual)!.traced === input.tensor ? input.tensor : null;
    });
    const isTaken = (actual: Tensor, i: number) =>
      disposed.has(actual) || (this.#inputOf.has(actual) && !aloneAt[i]);
    if (actuals.some(isTaken) || new Set(actuals).size < actuals.length) return undefined;
    this.#t.journal.keepMap(this.#lists);
    this.#lists.set(key, list);
    actuals.forEach((actual, i) => {
      const alone = aloneAt[i];
      if (alone) {
        recorded.push(alone);
        return;
      }
      const itemSource = elementSource(source, String(i), at.path);
      const variable = outerTensor(itemSource, actual);
      recorded.push(this.#add(variable, actual, itemSource, list));
    });
    return list;
  }

  get lists(): readonly OuterTensors[] {
    return [...this.#lists.values()];
  }

  #inputAt(actual: Tensor): TensorInput {
    const input = this.list.find((each) => each.actual === actual);
    invariant(input, 'a pre-existing tensor is an input');
    return input;
  }

  #isOfList(actual: Tensor): boolean {
    return this.#lists.size > 0 && this.list.some((each) => each.actual === actual && each.list);
  }

  #add(
    variable: TensorVariable,
    actual: Tensor,
    source: Source,
    list: OuterTensors | null,
  ): Tensor {
    const { dtype, shape, device, requiresGrad, isContiguous } = actual;
    const strides = isContiguous ? contiguousStrides(shape) : actual.strides;
    const input = this.#builder.input({ dtype, shape, strides, offset: 0, device });
    const traced = requireGrad(input, requiresGrad);
    this.#linkMemory(actual, traced);
    this.list.push({ source, tensor: traced, actual, list });
    this.#t.journal.noteInput(() => {
      variable.traced = null;
      this.#inputOf.delete(actual);
    });
    variable.traced = traced;
    this.#byTraced.set(traced, variable);
    this.#inputOf.set(actual, variable);
    this.#variablesOf.set(actual, [variable]);
    return traced;
  }

  /** Has a write to one view of a memory count as a write to its others, as eager execution counts it. */
  #linkMemory(actual: Tensor, traced: Tensor): void {
    const others = this.list.filter((each) => each.actual.holder === actual.holder);
    if (others.length === 0) return;
    const { memory } = this.#builder;
    memory.noteShared(
      [...others.map((each) => each.tensor), traced].map((t) => this.#builder.valueOf(t)),
    );
  }

  /** Makes the variable, and all others that refer to the same tensor, represent `next`. */
  replace(variable: TensorVariable, next: Tensor): void {
    const { actual } = variable;
    for (const each of actual ? this.#variablesOf.get(actual)! : [variable]) {
      this.#t.journal.set(each, 'traced', next);
    }
    if (!this.#byTraced.has(next)) this.#byTraced.set(next, variable);
  }

  of({ actual }: TensorVariable): Tensor {
    return this.#inputAt(actual!).tensor;
  }

  /** Returns the variable for an op result, which may be one of the op's operands. */
  result(tensor: Tensor): TensorVariable {
    return getOrInsert(this.#byTraced, tensor, () => tracedTensor(tensor));
  }

  /** Keeps inputs that were found on a path, although the path's changes are rolled back. */
  keep(): void {
    for (const { tensor } of this.list) {
      const variable = this.#byTraced.get(tensor)!;
      variable.traced ??= tensor;
      this.#inputOf.set(variable.actual!, variable);
    }
  }

  /**
   * Makes dimensions symbolic that had other sizes before. The strides of a tensor that is not contiguous vary with
   * its sizes, or alone: a column of a matrix that grows has the shape of any other.
   */
  #findSizes(source: Source, tensor: Tensor): void {
    const dims = tensor.shape.flatMap((size, dim) => {
      const key = sourceKey(dimSource(source, dim));
      const isBounded = this.#history.isBounded(key);
      const isOpen = this.#history.isSymbolicSize(key, size);
      const place = sizeSource(this.#t, source, dim);
      return isOpen ? [[dim, { size: isBounded ? ('any' as const) : null, place }] as const] : [];
    });
    const strides = tensor.isContiguous
      ? []
      : tensor.strides.map((_, dim) => strideSource(source, dim));
    // Each is recorded, so that a later trace finds another one.
    const varying = strides.filter((stride, dim) => {
      return this.#history.isSymbolic(sourceKey(stride), tensor.strides[dim]!);
    });
    if (dims.length + varying.length === 0) return;
    for (const stride of strides) this.#t.sizes.addKey(stride);
    this.#t.sizes.dims.set(tensor, new Map(dims));
    for (const [, { place }] of dims) this.#t.sizes.addKey(place);
  }
}
