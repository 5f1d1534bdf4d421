import { alignedBytes } from '../../../memory/allocator.ts';
import { toInt32 } from '../../cpu/scalar/pointwise.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { PoolBuffer } from '../core/buffer-pool.ts';
import type { Place } from '../core/device-core.ts';
import type { Places, Prepared } from '../prepared-kernel.ts';
import { bytesOf } from '../wgsl/elements/element-type.ts';
import type { WgslPlan, WgslStage, WrittenStage } from '../wgsl/wgsl-plan.ts';
import { typeOf, type UniformValue } from '../wgsl/wgsl-writer.ts';
import type { GpuCore } from './gpu-core.ts';

/** A plan on a device: finds which operands are one buffer, and issues the stages. */
export class PreparedWgsl implements Prepared {
  readonly #op: string;
  readonly #core: GpuCore;
  readonly #plan: WgslPlan;
  /** Bytes of each scratch buffer. */
  readonly #scratch: readonly number[];
  /** The written stages of each stage number, by what decides the text. */
  readonly #written: readonly Map<string, WrittenStage>[];

  constructor(op: string, core: GpuCore, plan: WgslPlan) {
    this.#op = op;
    this.#core = core;
    this.#plan = plan;
    this.#scratch = plan.scratch.map((words) => words * 4);
    this.#written = plan.stages.map(() => new Map());
  }

  get scratchBytes(): number {
    return this.#scratch.reduce((sum, bytes) => sum + alignedBytes(bytes), 0);
  }

  /** Starts the builds for operands in buffers of their own; an op in place has its result in operand 0. */
  build(inPlace: boolean, attrs: Attrs): void {
    this.#plan.stages.forEach((stage, s) => {
      if (stage.isEmpty) return;
      const names = stage.operands.map(({ slot }) =>
        inPlace && slot.kind === 'output' ? 'input 0' : `${slot.kind} ${slot.index}`,
      );
      const distinct = [...new Set(names)];
      const bindings = names.map((name) => distinct.indexOf(name));
      const ownsWords = mayOwnWords(stage.operands);
      this.#core.wgslKernel(this.#writtenFor(s, bindings, ownsWords, attrs).text);
    });
  }

  bind(attrs: Attrs): Launch {
    return (inputs, outputs, now = attrs) => {
      const operands = { input: inputs, output: outputs, scratch: [] };
      this.run((slot) => this.#core.place(operands[slot.kind][slot.index]!, this.#op), now);
    };
  }

  run(operands: Places, attrs: Attrs): void {
    this.#core.withScratch(this.#scratch, (scratch) => {
      const places = this.#plan.stages.map((stage) =>
        stage.operands.map(({ slot }) =>
          slot.kind === 'scratch' ? { buffer: scratch[slot.index]!, offset: 0 } : operands(slot),
        ),
      );
      const overwritten = this.#overwrittenReads(places);
      if (overwritten.length === 0) {
        this.#issueAll(places, attrs);
        return;
      }
      const sizes = overwritten.map(({ bytes }) => bytes);
      this.#core.withScratch(sizes, (copies) => {
        overwritten.forEach((buffer, i) => {
          const whole = { buffer, first: 0, count: buffer.bytes / 4 };
          this.#core.copy(whole, { buffer: copies[i]!, first: 0 });
        });
        const moved = places.map((own, s) =>
          own.map((place, i): Place => {
            const copy = copies[overwritten.indexOf(place.buffer)];
            return copy && !this.#isWritten(s, i, own) ? { ...place, buffer: copy } : place;
          }),
        );
        this.#issueAll(moved, attrs);
      });
    });
  }

  /** Whether the operand is written, or is one with an operand that is. */
  #isWritten(s: number, i: number, places: readonly Place[]): boolean {
    const { operands } = this.#plan.stages[s]!;
    return operands.some(
      (operand, j) => operand.written && (i === j || isOne(operands, places, i, j)),
    );
  }

  /** Buffers in which an element would be overwritten before its last read. */
  #overwrittenReads(places: readonly (readonly Place[])[]): PoolBuffer[] {
    const found = new Set<PoolBuffer>();
    const written = new Set<PoolBuffer>();
    this.#plan.stages.forEach(({ operands, isEmpty }, s) => {
      // Empty tensors are all at one place, which nothing is written to.
      if (isEmpty) return;
      const own = places[s]!;
      operands.forEach(({ slot, written: isWritten }, i) => {
        if (isWritten || slot.kind === 'scratch') return;
        const { buffer } = own[i]!;
        const meets = operands.some(
          (other, j) => other.written && own[j]!.buffer === buffer && !isOne(operands, own, i, j),
        );
        if (meets || written.has(buffer)) found.add(buffer);
      });
      operands.forEach(({ slot, written: isWritten }, i) => {
        if (isWritten && slot.kind !== 'scratch') written.add(own[i]!.buffer);
      });
    });
    return [...found];
  }

  #issueAll(places: readonly (readonly Place[])[], attrs: Attrs): void {
    this.#plan.stages.forEach((stage, s) => {
      if (!stage.isEmpty) this.#issue(stage, s, places[s]!, attrs);
    });
  }

  #issue(stage: WgslStage, s: number, places: readonly Place[], attrs: Attrs): void {
    const buffers: PoolBuffer[] = [];
    const bindings = places.map(({ buffer }) => {
      const known = buffers.indexOf(buffer);
      return known >= 0 ? known : buffers.push(buffer) - 1;
    });
    const ownsWords = mayOwnWords(stage.operands, places);
    const { text, uniforms, groups } = this.#writtenFor(s, bindings, ownsWords, attrs);
    const kernel = this.#core.wgslKernel(text);
    const values = uniforms.map((uniform) => uniformValue(uniform, places, attrs));
    const bound = buffers.map(({ buffer }) => buffer);
    const writes = buffers.filter((_, i) => text.written[i]!);
    const isRead = (buffer: PoolBuffer) =>
      stage.operands.some(({ written }, i) => !written && places[i]!.buffer === buffer);
    this.#core.launch({
      op: this.#op,
      kernel,
      reads: buffers.filter(isRead),
      writes,
      replaced: writes.filter((buffer) =>
        stage.operands.some(
          ({ written, elements, type }, i) =>
            written && places[i]!.buffer === buffer && elements * bytesOf(type) === buffer.bytes,
        ),
      ),
      encode: (batch) => {
        const { dispatched } = kernel;
        const at = batch.nextUniforms(dispatched);
        for (let i = 0; i < values.length; i++) {
          batch[typeOf(uniforms[i]!)][at + i] = values[i]!;
        }
        batch.dispatch(dispatched, bound, groups);
      },
    });
  }

  #writtenFor(
    s: number,
    bindings: readonly number[],
    ownsWords: boolean,
    attrs: Attrs,
  ): WrittenStage {
    const stage = this.#plan.stages[s]!;
    const key = `${bindings.join()}|${ownsWords}|${stage.chosenBy(attrs)}`;
    let found = this.#written[s]!.get(key);
    if (!found) {
      const written: boolean[] = [];
      const types = stage.operands.map(({ type }) => type);
      stage.operands.forEach((operand, i) => {
        written[bindings[i]!] ||= operand.written;
      });
      found = stage.write({ bindings, written, types, ownsWords, attrs });
      this.#written[s]!.set(key, found);
    }
    return found;
  }
}

/**
 * Whether threads may own the words that they write: each operand whose elements share words is written in order, and
 * begins with a word, as tensors do. `places` is left out for operands in buffers of their own.
 */
function mayOwnWords(operands: WgslStage['operands'], places?: readonly Place[]): boolean {
  return operands.every(({ written, type, inOrder }, i) => {
    if (!written || bytesOf(type) === 4) return true;
    const offset = places ? places[i]!.offset : 0;
    return inOrder === true && (offset * bytesOf(type)) % 4 === 0;
  });
}

/** Whether each thread reads operand `i` where it writes operand `j`, and nowhere else. */
function isOne(
  operands: WgslStage['operands'],
  places: readonly Place[],
  i: number,
  j: number,
): boolean {
  const { walk, type } = operands[i]!;
  return (
    walk !== null &&
    walk === operands[j]!.walk &&
    bytesOf(type) === bytesOf(operands[j]!.type) &&
    places[i]!.buffer === places[j]!.buffer &&
    places[i]!.offset === places[j]!.offset
  );
}

function uniformValue(uniform: UniformValue, places: readonly Place[], attrs: Attrs): number {
  switch (uniform.kind) {
    case 'count':
    case 'number':
    case 'int':
      return uniform.value;
    case 'offset':
      return places[uniform.operand]!.offset;
    case 'attr':
      return uniform.integer ? toInt32(Number(attrs[uniform.name])) : Number(attrs[uniform.name]);
    case 'integer':
      return uniform.of(attrs);
  }
}
