import { mayOverwrite, operandUse } from '../../device/kernel-op.ts';
import { hasChangingAttrs, presentView } from '../../device/symbolic-attrs.ts';
import {
  formatSpec,
  isContiguousMeta,
  sameSpec,
  type TensorMeta,
} from '../../device/tensor-meta.ts';
import { DataError } from '../../errors/errors.ts';
import { alignedBytes, alignment } from '../../memory/allocator.ts';
import type { OpRecord } from '../../ops/record/define-op.ts';
import { extentOf, sameShape, sizeOf } from '../../spec/shape.ts';
import type { Plan, PlannedSubgraph, Step } from '../plan.ts';
import type { ValueId } from '../program.ts';
import { DisjointSpans } from './disjoint-spans.ts';
import { verifyAttrs } from './verify-attrs.ts';
import { verifyControl } from './verify-control.ts';
import { expectSpec, type Fail, failureAt } from './verify-failure.ts';
import { verifyParts } from './verify-parts.ts';

/** Memory of a simulated run: its owner count, and its span in the arena. */
interface Storage {
  owners: number;
  readonly place: { readonly from: number; readonly to: number } | null;
}

/** A live value's location: how many elements are readable before its first element, and how many from it on. */
interface ValueLocation {
  readonly storage: Storage;
  readonly before: number;
  readonly after: number;
}

/** The values that are live at the end, and the outputs. */
class LiveValues extends Map<ValueId, ValueLocation> {
  readonly made = new Set<ValueId>();
}

/** Simulates the executor on a plan, with metas instead of data. */
export class SimulatedPlan {
  readonly #planned: PlannedSubgraph;
  readonly #where: string;
  readonly #live = new LiveValues();
  /** Values defined here or before; none may be defined again. */
  readonly #defined = new Set<ValueId>();
  readonly #placed = new DisjointSpans();
  #fail: Fail;

  constructor(planned: PlannedSubgraph, where: string) {
    this.#planned = planned;
    this.#where = where;
    this.#fail = failureAt(where);
  }

  /** `kept`: what an earlier plan has kept; `left`: what it has left, which is only freed. */
  run(
    plan: Plan,
    inputs: readonly ValueId[],
    kept: ReadonlyMap<ValueId, ValueLocation>,
    left = kept,
  ): LiveValues {
    const unused = new Set(plan.unusedInputs);
    for (const [id, { before, after }] of kept) {
      this.#live.set(id, { storage: { owners: 1, place: null }, before, after });
      this.#defined.add(id);
    }
    for (const id of inputs) {
      this.#define(id);
      if (unused.has(id)) continue;
      const { shape, strides } = this.#meta(id);
      this.#enter(id, { owners: 0, place: null }, 0, extentOf(shape, strides));
    }
    this.#verifyArena(plan);
    plan.steps.forEach((step, i) => {
      this.#fail = failureAt(`${this.#where}, step ${i} (${step.op.op.name})`);
      this.#attempt(() => this.#step(step, plan));
    });
    this.#fail = failureAt(`${this.#where}, its end`);
    for (const id of plan.outputs) {
      if (!this.#live.has(id)) this.#fail(`the result %${id}, which is not live`, 'a value');
      this.#live.made.add(id);
    }
    for (const id of plan.freesAtEnd) if (kept.has(id) || !left.has(id)) this.#free(id);
    return this.#live;
  }

  #meta(id: ValueId): TensorMeta {
    return this.#planned.values[id]!;
  }

  #define(id: ValueId): void {
    if (this.#defined.has(id)) this.#fail(`%${id} defined a second time`, 'each value once');
    this.#defined.add(id);
  }

  #enter(id: ValueId, storage: Storage, before: number, after: number): void {
    storage.owners++;
    this.#live.set(id, { storage, before, after });
  }

  /** An arena larger than its contents would waste memory. */
  #verifyArena({ arenaBytes, steps }: Plan): void {
    let most = 0;
    for (const { op, places } of steps) {
      op.outputs.forEach((id, i) => {
        const unit = placeUnit(this.#meta(id));
        if ((places?.[i] ?? null) !== null) most += Math.ceil(this.#bytes(id) / unit) * unit;
      });
    }
    if (arenaBytes > most) this.#fail(`an arena of ${arenaBytes} bytes`, `at most ${most}`);
  }

  #bytes(id: ValueId): number {
    const { shape, dtype, device } = this.#meta(id);
    return sizeOf(shape) * device.elementBytes(dtype);
  }

  #step(step: Step, plan: Plan): void {
    const { op, inputs, outputs } = step.op;
    this.#verifyOperands(op, inputs);
    for (const id of outputs) this.#define(id);
    if (op.kernel.kind === 'control') verifyControl(step, this.#planned, this.#fail);
    else {
      if (step.regions) this.#fail('programs inside an operator', 'none');
      if (step.op.parts) verifyParts(step.op, this.#planned.values, this.#fail);
      this.#verifyInferred(step);
    }
    outputs.forEach((id, i) => {
      this.#make(step, id, i, plan);
    });
    for (const id of step.frees) this.#free(id);
  }

  #verifyOperands(op: OpRecord, inputs: readonly ValueId[]): void {
    const fits = op.variadic
      ? inputs.length >= op.operands.length - 1
      : inputs.length === op.operands.length;
    if (!fits) this.#fail(`${inputs.length} operands`, String(op.operands.length));
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'shape') return;
      if (!this.#live.has(id)) this.#fail(`%${id}, which is not live`, 'a live value');
      const isTarget = op.inPlace && i === 0;
      const isRead = op.kernel.kind !== 'view' && op.layout === 'contiguous';
      if (isRead && !isTarget && !isContiguousMeta(this.#meta(id))) {
        this.#fail(`%${id} with strides`, 'a contiguous operand');
      }
    });
  }

  /** Verifies that the file's specs of results equal the inferred ones. */
  #verifyInferred({ op: { op, inputs, outputs, attrs } }: Step): void {
    const metas = inputs.map((id) => this.#meta(id));
    verifyAttrs(
      op,
      metas,
      outputs.map((id) => this.#meta(id)),
      attrs,
      this.#fail,
    );
    const { kernel } = op;
    const inferred =
      kernel.kind === 'view' ? [presentView(op, metas, attrs)] : op.infer(metas, attrs);
    if (op.inPlace) {
      const target = metas[0];
      if (!target || outputs.length > 0) this.#fail('results of a write in place', 'none');
      return;
    }
    if (inferred.length !== outputs.length) {
      this.#fail(`${outputs.length} results`, String(inferred.length));
    }
    inferred.forEach((spec, i) => {
      const meta = this.#meta(outputs[i]!);
      expectSpec(spec, this.#fail);
      if (!sameSpec(spec, meta)) this.#fail(`result ${formatSpec(meta)}`, formatSpec(spec));
      const view = kernel.kind === 'view' ? (spec as TensorMeta) : null;
      const fits = view
        ? sameShape(view.strides, meta.strides) && view.offset === meta.offset
        : isContiguousMeta(meta);
      if (!fits) this.#fail(`%${outputs[i]} with other strides`, 'those of the operator');
    });
  }

  /** Runs `body`; ops with invalid operands may fail with any error, including a stack overflow. */
  #attempt<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      if (error instanceof DataError) throw error;
      const reason = error instanceof Error ? error.message.split('\n')[0]! : String(error);
      return this.#fail(
        `operands that it refuses: ${reason}`,
        'operands and attributes that it takes',
      );
    }
  }

  #make({ op, reuses, frees, places }: Step, id: ValueId, i: number, plan: Plan): void {
    const elements = sizeOf(this.#meta(id).shape);
    if (op.op.kernel.kind === 'view') {
      const base = this.#live.get(op.inputs[0]!)!;
      const shift = this.#meta(id).offset - this.#meta(op.inputs[0]!).offset;
      const { shape, strides } = this.#meta(id);
      const [before, after] = [base.before + shift, base.after - shift];
      if (before < 0 || extentOf(shape, strides) > after) {
        this.#fail(`%${id} outside of %${op.inputs[0]}`, 'a view inside its base');
      }
      // If each run computes the offset, the executor checks it against the base. Views of the value must lie in the
      // value.
      if (hasChangingAttrs(op.attrs)) this.#enter(id, base.storage, 0, extentOf(shape, strides));
      else this.#enter(id, base.storage, before, after);
      return;
    }
    const reuse = reuses[i] ?? null;
    const place = places?.[i] ?? null;
    if (reuse !== null) {
      const taken = this.#live.get(reuse);
      const from = this.#meta(reuse);
      const bytes = (taken?.after ?? 0) * from.device.elementBytes(from.dtype);
      const fits = op.inputs.includes(reuse) && frees.includes(reuse) && place === null;
      const { device } = this.#meta(id);
      const overwrites = mayOverwrite(op.op, op.inputs.indexOf(reuse), device, i);
      if (!taken || !fits || !overwrites || this.#bytes(id) > bytes) {
        this.#fail(`%${id} in the memory of %${reuse}`, 'a dying operand of as many bytes');
      }
      this.#enter(id, taken.storage, 0, elements);
      return;
    }
    const bytes = alignedBytes(this.#bytes(id));
    const span = place === null ? null : { from: place, to: place + bytes };
    const storage: Storage = { owners: 0, place: span };
    if (span) this.#occupy(span, placeUnit(this.#meta(id)), plan);
    this.#enter(id, storage, 0, elements);
  }

  #occupy({ from, to }: NonNullable<Storage['place']>, unit: number, { arenaBytes }: Plan): void {
    if (to > arenaBytes || from % unit !== 0) {
      this.#fail(`bytes ${from} to ${to} of an arena of ${arenaBytes}`, 'a place in it');
    }
    if (!this.#placed.add(from, to)) {
      this.#fail(`bytes ${from} to ${to} of the arena`, 'bytes that no other value lies in');
    }
  }

  #free(id: ValueId): void {
    const living = this.#live.get(id);
    if (!living) this.#fail(`%${id} freed, which is not live`, 'a live value');
    this.#live.delete(id);
    const { storage } = living;
    if (--storage.owners === 0 && storage.place) {
      this.#placed.delete(storage.place.from, storage.place.to);
    }
  }
}

/** Returns the alignment of arena offsets. */
function placeUnit({ device }: TensorMeta): number {
  return device.allocator.regionLimits?.alignment ?? alignment;
}
