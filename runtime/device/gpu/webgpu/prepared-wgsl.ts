import { alignedBytes } from '../../../memory/allocator.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { PoolBuffer } from '../core/buffer-pool.ts';
import type { Place } from '../core/device-core.ts';
import type { Places, Prepared } from '../prepared-kernel.ts';
import { bytesOf } from '../wgsl/elements/element-type.ts';
import type { WgslPlan, WgslStage, WrittenStage } from '../wgsl/wgsl-plan.ts';
import type { GpuCore } from './gpu-core.ts';
import { IssuedStage } from './issued-stage.ts';

/** The last launch; a launch with operands at the same locations repeats its dispatches. */
interface LastLaunch {
  places: readonly (readonly Place[])[];
  /** The parts of attributes that the stages' texts depend on. */
  chosen: readonly string[];
  /** Null for stages without work. */
  stages: readonly (IssuedStage | null)[];
}

interface Memo {
  last: LastLaunch | null;
}

/** A plan on a device: determines which operands share a buffer, and issues the stages. */
export class PreparedWgsl implements Prepared {
  readonly #op: string;
  readonly #core: GpuCore;
  readonly #plan: WgslPlan;
  /** Bytes of each scratch buffer. */
  readonly #scratch: readonly number[];
  /** The generated stages per stage index, by the facts that determine the text. */
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

  /** Starts the builds for operands in separate buffers; the result of an in-place op is operand 0. */
  build(inPlace: boolean, attrs: Attrs): void {
    this.#plan.stages.forEach((stage, s) => {
      if (stage.isEmpty) return;
      const names = stage.operands.map(({ slot }) =>
        inPlace && slot.kind === 'output' ? 'input 0' : `${slot.kind} ${slot.index}`,
      );
      const distinct = [...new Set(names)];
      const bindings = names.map((name) => distinct.indexOf(name));
      const ownsWords = mayOwnWords(stage.operands);
      const bound = { bindings, ownsWords, buffers: null };
      this.#core.wgslKernel(this.#writtenFor(s, bound, attrs).text);
    });
  }

  /** Returns a separate launch for each op of a program, whose operands are where they were in the last step. */
  bind(attrs: Attrs): Launch {
    const memo: Memo = { last: null };
    return (inputs, outputs, now = attrs) => {
      const operands = { input: inputs, output: outputs, scratch: [] };
      const place: Places = (slot) => this.#core.place(operands[slot.kind][slot.index]!, this.#op);
      this.#run(place, now, memo);
    };
  }

  run(operands: Places, attrs: Attrs): void {
    this.#run(operands, attrs, { last: null });
  }

  #run(operands: Places, attrs: Attrs, memo: Memo): void {
    this.#core.withScratch(this.#scratch, (scratch) => {
      if (memo.last && this.#isAsBefore(memo.last, operands, scratch, attrs)) {
        this.#core.noteRepeated();
        for (const stage of memo.last.stages) stage?.issue(attrs);
        return;
      }
      const places = this.#plan.stages.map((stage) =>
        stage.operands.map(({ slot }) =>
          slot.kind === 'scratch' ? { buffer: scratch[slot.index]!, offset: 0 } : operands(slot),
        ),
      );
      const overwritten = this.#overwrittenReads(places);
      if (overwritten.length === 0) {
        const stages = this.#issueAll(places, attrs);
        const chosen = this.#plan.stages.map((stage) => stage.chosenBy(attrs));
        memo.last = { places, chosen, stages };
        return;
      }
      memo.last = null;
      const sizes = overwritten.map(({ bytes }) => bytes);
      this.#core.withScratch(sizes, (copies) => {
        overwritten.forEach((buffer, i) => {
          const whole = { buffer, first: 0, count: buffer.bytes / 4 };
          this.#core.copy(whole, { buffer: copies[i]!, first: 0 });
        });
        const moved = places.map((each, s) =>
          each.map((place, i): Place => {
            const copy = copies[overwritten.indexOf(place.buffer)];
            return copy && !this.#isWritten(s, i, each) ? { ...place, buffer: copy } : place;
          }),
        );
        this.#issueAll(moved, attrs);
      });
    });
  }

  /** Whether the operand is written, or is identical to a written operand. */
  #isWritten(s: number, i: number, places: readonly Place[]): boolean {
    const { operands } = this.#plan.stages[s]!;
    return operands.some(
      (operand, j) => operand.written && (i === j || isOne(operands, places, i, j)),
    );
  }

  /** Returns the buffers in which an element would be overwritten before its last read. */
  #overwrittenReads(places: readonly (readonly Place[])[]): PoolBuffer[] {
    const found = new Set<PoolBuffer>();
    const written = new Set<PoolBuffer>();
    this.#plan.stages.forEach(({ operands, isEmpty }, s) => {
      // All empty tensors have the same location, which is never written.
      if (isEmpty) return;
      const place = places[s]!;
      operands.forEach(({ slot, written: isWritten }, i) => {
        if (isWritten || slot.kind === 'scratch') return;
        const { buffer } = place[i]!;
        const meets = operands.some(
          (other, j) =>
            other.written && place[j]!.buffer === buffer && !isOne(operands, place, i, j),
        );
        if (meets || written.has(buffer)) found.add(buffer);
      });
      operands.forEach(({ slot, written: isWritten }, i) => {
        if (isWritten && slot.kind !== 'scratch') written.add(place[i]!.buffer);
      });
    });
    return [...found];
  }

  #isAsBefore(
    { places, chosen }: LastLaunch,
    operands: Places,
    scratch: readonly PoolBuffer[],
    attrs: Attrs,
  ): boolean {
    return this.#plan.stages.every(
      (stage, s) =>
        stage.operands.every(({ slot }, i) => {
          const known = places[s]![i]!;
          if (slot.kind === 'scratch') return scratch[slot.index] === known.buffer;
          const { buffer, offset } = operands(slot);
          return buffer === known.buffer && offset === known.offset;
        }) && stage.chosenBy(attrs) === chosen[s],
    );
  }

  #issueAll(places: readonly (readonly Place[])[], attrs: Attrs): (IssuedStage | null)[] {
    return this.#plan.stages.map((stage, s) => {
      if (stage.isEmpty) return null;
      const issued = this.#issued(stage, s, places[s]!, attrs);
      issued.issue(attrs);
      return issued;
    });
  }

  #issued(stage: WgslStage, s: number, places: readonly Place[], attrs: Attrs): IssuedStage {
    const buffers: PoolBuffer[] = [];
    const bindings = places.map(({ buffer }) => {
      const known = buffers.indexOf(buffer);
      return known >= 0 ? known : buffers.push(buffer) - 1;
    });
    const ownsWords = mayOwnWords(stage.operands, places);
    const written = this.#writtenFor(s, { bindings, ownsWords, buffers }, attrs);
    return new IssuedStage(this.#core, this.#op, stage, written, { places, buffers }, attrs);
  }

  #writtenFor(
    s: number,
    { bindings, ownsWords, buffers }: BoundOperands,
    attrs: Attrs,
  ): WrittenStage {
    const stage = this.#plan.stages[s]!;
    const written: boolean[] = [];
    stage.operands.forEach((operand, i) => {
      written[bindings[i]!] ||= operand.written;
    });
    const writable = buffers ? besideWritten(written, buffers) : written;
    const key = `${bindings.join()}|${writable.join()}|${ownsWords}|${stage.chosenBy(attrs)}`;
    let found = this.#written[s]!.get(key);
    if (!found) {
      const types = stage.operands.map(({ type }) => type);
      const { lanes } = this.#core;
      found = stage.write({ bindings, written, writable, types, ownsWords, lanes, attrs });
      this.#written[s]!.set(key, found);
    }
    return found;
  }
}

interface BoundOperands {
  /** The index of each operand's buffer. */
  readonly bindings: readonly number[];
  readonly ownsWords: boolean;
  /** Buffers by index; null if operands are in separate buffers. */
  readonly buffers: readonly PoolBuffer[] | null;
}

/** Whether each part is in a buffer that has a written part. */
function besideWritten(written: readonly boolean[], parts: readonly PoolBuffer[]): boolean[] {
  const isWritten = new Set(parts.filter((_, i) => written[i]!).map(({ buffer }) => buffer));
  return parts.map(({ buffer }) => isWritten.has(buffer));
}

/**
 * Whether each thread can own the words it writes: every operand whose elements share words is written in order
 * and starts at a word boundary, as tensors do. `places` is omitted for operands in separate buffers.
 */
function mayOwnWords(operands: WgslStage['operands'], places?: readonly Place[]): boolean {
  return operands.every(({ written, type, inOrder }, i) => {
    if (!written || bytesOf(type) === 4) return true;
    const offset = places ? places[i]!.offset : 0;
    return inOrder === true && (offset * bytesOf(type)) % 4 === 0;
  });
}

/** Whether each thread reads operand `i` exactly where it writes operand `j`. */
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
