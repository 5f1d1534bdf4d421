import { alignedBytes } from '../../memory/allocator.ts';
import { E } from '../../ops/expr/expr.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { Attrs } from '../kernel-op.ts';
import { contiguousMeta, isContiguousMeta, type TensorMeta } from '../tensor-meta.ts';
import { pointwisePlan } from './codegen/pointwise.ts';
import type { BufferHandle, CheckedHandle, PoolBuffer } from './core/buffer-pool.ts';
import type { DeviceCore, Place } from './core/device-core.ts';
import type { KernelPlan, Scalar, Slot } from './core/kernel-plan.ts';
import { type KernelText, keyOf, type StoreLayout } from './core/kernel-text.ts';

/** Returns the locations of one launch's buffers. */
export type Places<H extends CheckedHandle = BufferHandle> = (slot: Slot) => Place<H>;

/** A stage's text for one variant of its launch. */
interface Variant {
  readonly key: string;
  readonly text: KernelText;
}

/** An op's kernels for operands of one layout. */
export interface Prepared<H extends CheckedHandle = BufferHandle> {
  /** Bytes that a launch allocates and frees if no operands overlap. */
  readonly scratchBytes: number;
  /** Starts all builds in parallel, so that a static program's kernels are ready sooner. */
  build(inPlace: boolean, attrs: Attrs): void;
  bind(attrs: Attrs): Launch;
  /** Launches on buffers that are already located. */
  run(operands: Places<H>, attrs: Attrs): void;
}

/** Returns a launch that locates the operands' buffers. */
export const launchOf =
  <H extends CheckedHandle>(
    kernel: Prepared<H>,
    core: DeviceCore<H>,
    op: string,
    attrs: Attrs,
  ): Launch =>
  (inputs, outputs, now = attrs) => {
    const operands = { input: inputs, output: outputs, scratch: [] };
    kernel.run((slot) => core.place(operands[slot.kind][slot.index]!, op), now);
  };

/** gpu.js kernels store every element as float32. */
const floatBytes = 4;

const scratchSizes = ({ scratch }: KernelPlan): number[] =>
  scratch.map((elements) => elements * floatBytes);

/** A plan on a device: handles inputs that are the output's own buffer, and issues the stages. */
export class PreparedKernel<H extends CheckedHandle = BufferHandle> implements Prepared<H> {
  readonly #op: string;
  readonly #core: DeviceCore<H>;
  readonly #plan: KernelPlan;
  readonly #outputs: readonly TensorMeta[];
  readonly #variants = new Map<string, Variant>();
  /** For each output, a kernel that copies a result that could not be computed in place. Created on first use. */
  readonly #copies = new Map<number, PreparedKernel<H>>();

  constructor(op: string, core: DeviceCore<H>, plan: KernelPlan, outputs: readonly TensorMeta[]) {
    this.#op = op;
    this.#core = core;
    this.#plan = plan;
    this.#outputs = outputs;
  }

  get scratchBytes(): number {
    return scratchSizes(this.#plan).reduce((sum, bytes) => sum + alignedBytes(bytes), 0);
  }

  build(inPlace: boolean): void {
    this.#plan.stages.forEach((stage, s) => {
      if (stage.threads === 0) return;
      const target = stage.inputs.findIndex((slot) => slot.kind === 'input' && slot.index === 0);
      const aliases = inPlace && stage.elementwise[target] ? [target] : [];
      const { key, text } = this.#variant(s, stage.layout, aliases);
      this.#core.startBuild(this.#op, key, text);
    });
  }

  bind(attrs: Attrs): Launch {
    return launchOf(this, this.#core, this.#op, attrs);
  }

  run(operands: Places<H>, attrs: Attrs): void {
    this.#core.withScratch(scratchSizes(this.#plan), (scratch) => {
      const places: Places<H> = (slot) =>
        slot.kind === 'scratch' ? { buffer: scratch[slot.index]!, offset: 0 } : operands(slot);
      const moved: number[] = [];
      this.#plan.stages.forEach((stage, s) => {
        if (stage.threads === 0) return;
        if (this.#mayWrite(s, places)) {
          this.#issueStage(s, places, attrs, places(stage.output), stage.layout);
        } else {
          moved.push(s);
        }
      });
      if (moved.length > 0) this.#issueMoved(moved, places, attrs);
    });
  }

  /** Whether the stage overwrites no elements that it, or a later stage, has yet to read. */
  #mayWrite(s: number, places: Places<H>): boolean {
    const { output } = this.#plan.stages[s]!;
    if (output.kind === 'scratch') return true;
    const target = places(output);
    return this.#plan.stages.every((stage, other) => {
      if (other < s) return true;
      return stage.inputs.every((slot, i) => {
        const place = places(slot);
        if (place.buffer !== target.buffer) return true;
        return other === s && stage.elementwise[i]! && place.offset === target.offset;
      });
    });
  }

  /** Writes results to scratch, and copies them after the last read of the old contents. */
  #issueMoved(moved: readonly number[], places: Places<H>, attrs: Attrs): void {
    const stages = moved.map((s) => this.#plan.stages[s]!);
    const sizes = stages.map((stage) => stage.threads * floatBytes);
    this.#core.withScratch(sizes, (results) => {
      moved.forEach((s, i) => {
        this.#issueStage(s, places, attrs, { buffer: results[i]!, offset: 0 }, null);
      });
      stages.forEach(({ output }, i) => {
        this.#copyResult(output.index, results[i]!, places(output));
      });
    });
  }

  #copyResult(index: number, result: PoolBuffer<H>, target: Place<H>): void {
    const meta = this.#outputs[index]!;
    if (isContiguousMeta(meta)) {
      const from = { buffer: result, first: 0, count: sizeOf(meta.shape) };
      this.#core.copy(from, { buffer: target.buffer, first: target.offset });
      return;
    }
    const from = { buffer: result, offset: 0 };
    let copy = this.#copies.get(index);
    if (!copy) {
      const plan = pointwisePlan(E.input(0), [contiguousMeta(meta, meta.device)], meta, {});
      copy = new PreparedKernel(this.#op, this.#core, plan, [meta]);
      this.#copies.set(index, copy);
    }
    copy.run((slot) => (slot.kind === 'input' ? from : target), {});
  }

  #issueStage(
    s: number,
    places: Places<H>,
    attrs: Attrs,
    target: Place<H>,
    layout: StoreLayout | null,
  ): void {
    const stage = this.#plan.stages[s]!;
    const inputs = stage.inputs.map((slot) => places(slot).buffer);
    const aliases = inputs.flatMap((buffer, i) => (buffer === target.buffer ? [i] : []));
    const offsetOf = (of: Slot) => (of === stage.output ? target : places(of)).offset;
    const scalars = stage.scalars.map((scalar) => scalarValue(scalar, offsetOf, attrs));
    const variant = this.#variant(s, layout, aliases);
    this.#core.runStage({ op: this.#op, ...variant, target, inputs, scalars });
  }

  #variant(s: number, layout: StoreLayout | null, aliases: readonly number[]): Variant {
    const name = `${s}|${layout === null}|${aliases.join()}`;
    let variant = this.#variants.get(name);
    if (!variant) {
      const { source, threads, inputs, scalars, storeOffset } = this.#plan.stages[s]!;
      const counts = { arrays: inputs.length, scalars: scalars.length };
      const text = { source, threads, ...counts, layout, storeOffset, aliases };
      variant = { text, key: keyOf(text) };
      this.#variants.set(name, variant);
    }
    return variant;
  }
}

function scalarValue(scalar: Scalar, offsetOf: (slot: Slot) => number, attrs: Attrs): number {
  switch (scalar.kind) {
    case 'offset':
      return offsetOf(scalar.of);
    case 'attr':
      return Number(attrs[scalar.name]);
    case 'number':
      return scalar.value;
  }
}
