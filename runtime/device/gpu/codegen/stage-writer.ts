import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { type Scalar, type Slot, type Stage, sameSlot } from '../core/kernel-plan.ts';
import type { StoreLayout } from '../core/kernel-text.ts';
import { indexCode, storeLayout } from './index-code.ts';

/** A view of an operand's elements in a kernel's source. */
export interface ArrayRef {
  /** Returns the element at an index expression that excludes the operand's offset. */
  at(index: string): string;
}

/** The thread's index, a float32 in every source. */
export const thread = 'i';

/** Writes one stage: collects arrays, scalars and statements, and generates unique names. */
export class StageWriter {
  readonly #lines: string[] = [];
  readonly #inputs: Slot[] = [];
  readonly #elementwise: boolean[] = [];
  readonly #scalars: { readonly name: string; readonly scalar: Scalar }[] = [];
  #names = 0;

  /** Adds an array argument. `elementwise` means it is only read at the element that the thread writes. */
  array(slot: Slot, elementwise = false): ArrayRef {
    let number = this.#inputs.findIndex((other) => sameSlot(other, slot));
    if (number < 0) {
      number = this.#inputs.push(slot) - 1;
      this.#elementwise.push(elementwise);
    } else if (!elementwise) {
      this.#elementwise[number] = false;
    }
    if (slot.kind === 'scratch') return { at: (index) => `a${number}[${index}]` };
    const offset = this.#scalar(`o${number}`, { kind: 'offset', of: slot });
    return { at: (index) => `a${number}[${offset}+${index}]` };
  }

  attr(name: string): string {
    return this.#scalar(`attr_${name}`, { kind: 'attr', name });
  }

  get infinity(): string {
    return this.#scalar('inf', { kind: 'number', value: Infinity });
  }

  get zero(): string {
    return this.#scalar('zero', { kind: 'number', value: 0 });
  }

  get nan(): string {
    return this.#scalar('nan', { kind: 'number', value: NaN });
  }

  line(...lines: string[]): void {
    this.#lines.push(...lines);
  }

  name(): string {
    return `t${this.#names++}`;
  }

  /** Declares a variable with the value of the expression. */
  let(expression: string): string {
    const name = this.name();
    this.line(`let ${name}=${expression};`);
    return name;
  }

  /** Returns index expressions of operands for element `of` of `shape`. */
  indices(
    shape: readonly number[],
    strides: readonly (readonly number[])[],
    of = thread,
  ): readonly string[] {
    const { lines, indices } = indexCode(of, shape, strides, this.name());
    this.line(...lines);
    return indices.map((index) => this.let(index));
  }

  /** Writes `for (k = 0; k < count; k++) body`; gpu.js requires a literal bound. */
  loop(count: number, body: (k: string) => void): void {
    const k = this.name();
    this.line(`for(let ${k}=0;${k}<${count};${k}++){`);
    body(k);
    this.line('}');
  }

  /**
   * Returns a stage that writes `result`, one thread per element of the target's shape. `base` is the first
   * element of a part of the target.
   */
  into(target: Slot, meta: TensorMeta, result: string, base = 0): Stage {
    const layout = storeLayout(meta.shape, meta.strides, base);
    return this.#finish(target, sizeOf(meta.shape), layout, result);
  }

  /** Returns a stage that writes `result` to a contiguous scratch buffer. */
  intoScratch(target: Slot, threads: number, result: string): Stage {
    return this.#finish(target, threads, null, result);
  }

  #finish(target: Slot, threads: number, layout: StoreLayout | null, result: string): Stage {
    const storeOffset = target.kind === 'output' ? 'storeOffset' : null;
    if (storeOffset) this.#scalar(storeOffset, { kind: 'offset', of: target });
    const names = [
      ...this.#inputs.map((_, i) => `a${i}`),
      ...this.#scalars.map(({ name }) => name),
    ];
    const body = [`let ${thread}=this.thread.x;`, ...this.#lines, `return ${result};`];
    return {
      source: `function(${names.join(',')}){\n${body.join('\n')}\n}`,
      threads,
      inputs: this.#inputs,
      elementwise: this.#elementwise,
      scalars: this.#scalars.map(({ scalar }) => scalar),
      output: target,
      layout,
      storeOffset,
    };
  }

  #scalar(name: string, scalar: Scalar): string {
    if (!this.#scalars.some((other) => other.name === name)) this.#scalars.push({ name, scalar });
    return name;
  }
}
