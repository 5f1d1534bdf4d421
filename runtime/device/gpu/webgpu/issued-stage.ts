import { toInt32 } from '../../cpu/scalar/pointwise.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { BoundKernel } from '../core/bind-groups.ts';
import type { PoolBuffer } from '../core/buffer-pool.ts';
import type { Place } from '../core/device-core.ts';
import { bytesOf } from '../wgsl/elements/element-type.ts';
import type { WgslKernel } from '../wgsl/wgsl-kernel.ts';
import type { WgslStage, WrittenStage } from '../wgsl/wgsl-plan.ts';
import { typeOf, type UniformValue } from '../wgsl/wgsl-writer.ts';
import type { GpuCore, KernelRun } from './gpu-core.ts';

/** The locations of a stage's operands, and its bound buffers, without duplicates. */
interface StagePlaces {
  readonly places: readonly Place[];
  readonly buffers: readonly PoolBuffer[];
}

/** A dispatch at known locations: reissuing it only checks whether attribute values have changed. */
export class IssuedStage {
  readonly #core: GpuCore;
  readonly #written: WrittenStage;
  /** The uniforms that depend on attributes. */
  readonly #changing: readonly number[];
  readonly #facts: Pick<KernelRun, 'op' | 'reads' | 'writes' | 'replaced'>;
  readonly #buffers: readonly PoolBuffer[];
  readonly #kernel: WgslKernel;
  /** Created for the first dispatch, when the kernel is built. */
  #bound: BoundKernel | null = null;
  /** The last issued uniforms; shared with a run that waits for its kernel. */
  #words: Uint32Array;
  #run: KernelRun;

  constructor(
    core: GpuCore,
    op: string,
    { operands }: WgslStage,
    written: WrittenStage,
    { places, buffers }: StagePlaces,
    attrs: Attrs,
  ) {
    this.#core = core;
    this.#written = written;
    const { text, uniforms } = written;
    const kindIs = (told: boolean) =>
      uniforms.flatMap(({ kind }, i) =>
        (kind === 'attr' || kind === 'integer') === told ? [i] : [],
      );
    this.#changing = kindIs(true);
    const writes = buffers.filter((_, i) => text.written[i]!);
    const at = (buffer: PoolBuffer) => (_: unknown, i: number) => places[i]!.buffer === buffer;
    this.#facts = {
      op,
      reads: buffers.filter((buffer) =>
        operands.filter(at(buffer)).some(({ written: isWritten, isRead = !isWritten }) => isRead),
      ),
      writes,
      replaced: writes.filter((buffer) =>
        operands
          .filter(at(buffer))
          .some(
            ({ written: isWritten, elements, type }) =>
              isWritten && elements * bytesOf(type) === buffer.used,
          ),
      ),
    };
    this.#buffers = buffers;
    const words = new Uint32Array(uniforms.length);
    for (const i of kindIs(false))
      words[i] = wordOf(uniforms[i]!, placedValue(uniforms[i]!, places));
    this.#words = this.#withAttrs(words, attrs);
    this.#kernel = core.wgslKernel(text);
    this.#run = this.#newRun();
  }

  issue(attrs: Attrs): void {
    const words = this.#withAttrs(this.#words, attrs);
    if (words !== this.#words) {
      this.#words = words;
      this.#run = this.#newRun();
    }
    this.#core.launch(this.#run);
  }

  /** Returns the words updated from the attributes; the same array if nothing changed. */
  #withAttrs(words: Uint32Array, attrs: Attrs): Uint32Array {
    let result = words;
    for (const i of this.#changing) {
      const uniform = this.#written.uniforms[i]!;
      const word = wordOf(uniform, attrUniformValue(uniform, attrs));
      if (result[i] === word) continue;
      if (result === words) result = words.slice();
      result[i] = word;
    }
    return result;
  }

  #newRun(): KernelRun {
    const kernel = this.#kernel;
    const words = this.#words;
    return {
      ...this.#facts,
      kernel,
      encode: (batch) => {
        const { dispatched } = kernel;
        batch.u32.set(words, batch.nextUniforms(dispatched));
        this.#bound ??= batch.bind(dispatched, this.#buffers);
        batch.dispatch(this.#bound, this.#written.groups);
      },
    };
  }
}

function placedValue(uniform: UniformValue, places: readonly Place[]): number {
  if (uniform.kind === 'offset') return places[uniform.operand]!.offset;
  return 'value' in uniform ? uniform.value : 0;
}

function attrUniformValue(uniform: UniformValue, attrs: Attrs): number {
  if (uniform.kind === 'integer') return uniform.of(attrs);
  if (uniform.kind !== 'attr') return 0;
  const value = Number(attrs[uniform.name]);
  return uniform.integer ? toInt32(value) : value;
}

const word = { u32: new Uint32Array(1), i32: new Int32Array(1), f32: new Float32Array(1) };
const bits = {
  u32: word.u32,
  i32: new Uint32Array(word.i32.buffer),
  f32: new Uint32Array(word.f32.buffer),
};

/** Returns the word for a uniform's value. */
function wordOf(uniform: UniformValue, value: number): number {
  const type = typeOf(uniform);
  word[type][0] = value;
  return bits[type][0]!;
}
