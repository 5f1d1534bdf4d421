import { DeviceError } from '../../../errors/errors.ts';
import { events } from '../../../memory/events.ts';
import { copying, copyingAsync } from '../../../profiler/copying.ts';
import type { Operand } from '../../device.ts';
import { BufferPool, bufferAt, type PoolBuffer } from '../core/buffer-pool.ts';
import type { CommandCounts } from '../core/command-batch.ts';
import type {
  DeviceCore,
  HostRun,
  KernelStats,
  Place,
  StageRun,
  WordPlace,
  WordSpan,
} from '../core/device-core.ts';
import { type Words, wordsOf } from '../core/element-storage.ts';
import {
  buildError,
  closedError,
  type LostInfo,
  lostError,
  noMemory,
  runError,
} from '../core/gpu-errors.ts';
import { KernelCache } from '../core/kernel-cache.ts';
import { type KernelText, keyOf } from '../core/kernel-text.ts';
import { gpuJsLimit, maxArrays, maxElements } from '../core/limits.ts';
import { type GlContext, releaseContext } from './context.ts';
import type { GpuJsTranslator } from './gpujs-glsl.ts';
import { GlProgram } from './program.ts';
import { SpareTextures } from './spare-textures.ts';
import { rowElements, type TextureHandle } from './texture.ts';
import { Textures } from './textures.ts';

const name = 'gpu';

const elementBytes = 4;

/** Copies elements between buffers. */
const copySource = 'function(a0,o0,storeOffset){let i=this.thread.x;return a0[o0+i];}';

/**
 * Textures and kernels of one WebGL2 context, which executes commands immediately and in order: nothing is queued
 * here, and errors are thrown where work is issued.
 */
export class WebGlCore implements DeviceCore<TextureHandle> {
  readonly pool: BufferPool<TextureHandle>;
  readonly mostBuffers = maxArrays + 1;
  readonly #gl: WebGL2RenderingContext;
  readonly #translator: GpuJsTranslator;
  readonly #textures: Textures;
  readonly #spares: SpareTextures;
  readonly #kernels: KernelCache<KernelText, GlProgram>;
  /** The buffer that kernels read for empty tensors. */
  readonly #nothing: PoolBuffer<TextureHandle>;
  /** Pending reads. */
  readonly #reads = new Set<Promise<Words>>();
  #draws = 0;
  #closed = false;
  readonly lost: Promise<string>;

  constructor({ gl, canvas }: GlContext, translator: GpuJsTranslator, kernelCapacity: number) {
    this.#gl = gl;
    this.lost = new Promise((resolve) => {
      canvas.addEventListener('webglcontextlost', () => {
        if (!this.#closed) resolve('the context was lost');
      });
    });
    this.#translator = translator;
    this.#textures = new Textures(gl);
    const rows = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    this.pool = new BufferPool<TextureHandle>(name, {
      ...(maxElements <= rowElements * rows
        ? gpuJsLimit(elementBytes)
        : {
            maxBufferBytes: rowElements * rows * elementBytes,
            limitedBy: `rows of ${rowElements} elements, as many as MAX_TEXTURE_SIZE`,
          }),
      createBuffer: (bytes) => {
        if (this.#closed) throw closedError('allocation');
        if (this.isLost) throw lostError('allocation', lost);
        return this.#textures.make(bytes / elementBytes);
      },
      destroyBuffer: (buffer) => {
        this.#textures.delete(buffer);
        // No other buffer may have that size.
        this.#spares.trim();
      },
      reuseBuffer: () => {},
    });
    this.#spares = new SpareTextures(this.#textures, this.pool.counter);
    this.#kernels = new KernelCache(
      kernelCapacity,
      (text) => new GlProgram(gl, translator.translate(text), text),
      (program) => program.destroy(),
    );
    this.#nothing = bufferAt(this.#textures.make(16), 0, 16 * elementBytes);
  }

  /** Draws count as dispatches; browsers submit when a task ends. */
  get commandCounts(): CommandCounts {
    return { dispatches: this.#draws, submits: 0, bindGroups: 0 };
  }

  get kernelStats(): KernelStats {
    const { compiled, size: cached } = this.#kernels;
    return { compiled, wgsl: 0, atomic: 0, repeated: 0, cached };
  }

  get isLost(): boolean {
    return !this.#closed && this.#gl.isContextLost();
  }

  place({ holder, offset }: Operand, op: string): Place<TextureHandle> {
    if (this.#closed) throw closedError(op);
    if (this.isLost) throw lostError(op, lost);
    if (!holder || holder.ptr === 0) return { buffer: this.#nothing, offset: 0 };
    return { buffer: this.pool.at(holder.ptr), offset };
  }

  withScratch(
    bytes: readonly number[],
    body: (buffers: readonly PoolBuffer<TextureHandle>[]) => void,
  ): void {
    this.pool.withScratch(bytes, body);
  }

  startBuild(op: string, key: string, text: KernelText): void {
    this.#compile(op, key, text);
  }

  runStage({ op, key, text, target, inputs, scalars }: StageRun<TextureHandle>): void {
    const program = this.#compile(op, key, text);
    const { buffer, offset } = target;
    try {
      program.use(inputs, buffer, scalars);
    } catch (cause) {
      throw this.isLost ? lostError(op, lost) : buildError(op, cause);
    }
    this.#draws++;
    if (!program.preservesUnwritten) {
      this.#textures.draw(buffer, offset, text.threads);
      return;
    }
    // GL can't draw to a texture that the same draw reads.
    const texture = this.#spare(buffer, op);
    this.#textures.drawAll({ ...buffer, texture });
    this.#spares.keep(buffer, buffer.texture);
    buffer.texture = texture;
  }

  /** Returns another texture of the buffer's size. Throws OutOfMemoryError before anything is drawn. */
  #spare(buffer: PoolBuffer<TextureHandle>, op: string): WebGLTexture {
    try {
      return this.#spares.take(buffer);
    } catch (cause) {
      throw this.isLost ? lostError(op, lost) : noMemory(buffer.bytes, cause);
    }
  }

  #compile(op: string, key: string, text: KernelText): GlProgram {
    try {
      return this.#kernels.get(key, text);
    } catch (cause) {
      throw buildError(op, cause);
    }
  }

  copy(from: WordSpan<TextureHandle>, to: WordPlace<TextureHandle>): void {
    const target = { buffer: to.buffer, offset: to.first };
    const aliases = from.buffer === target.buffer ? [0] : [];
    const counts = { threads: from.count, arrays: 1, scalars: 2 };
    const text = {
      source: copySource,
      ...counts,
      layout: null,
      storeOffset: 'storeOffset',
      aliases,
    };
    const scalars = [from.first, target.offset];
    this.runStage({ op: 'copy', key: keyOf(text), text, target, inputs: [from.buffer], scalars });
  }

  computeOnHost({ op, reads, writes, compute }: HostRun<TextureHandle>): void {
    const values = reads.map(({ buffer, first, count }) => {
      const bytes = count * elementBytes;
      events.copy(name, 'host', bytes);
      const read = () => this.#textures.readSync(buffer, first, count);
      return wordsOf(copying(name, 'host', bytes, read));
    });
    if (this.isLost) throw lostError(op, lost);
    const results = compute(values);
    writes.forEach((place, i) => {
      if (results[i]!.length > 0) this.write(results[i]!, place);
    });
  }

  write(data: Words, { buffer, first }: WordPlace<TextureHandle>): void {
    events.copy('host', name, data.byteLength);
    copying('host', name, data.byteLength, () => {
      const floats = new Float32Array(data.buffer, data.byteOffset, data.length);
      this.#textures.write(buffer, first, floats);
    });
  }

  read(from: WordSpan<TextureHandle>, op: string): Promise<Words> {
    const bytes = from.count * elementBytes;
    events.copy(name, 'host', bytes);
    const read = () => this.#read(from, op);
    const reading = copyingAsync(name, bytes, read);
    this.#reads.add(reading);
    const done = () => this.#reads.delete(reading);
    reading.then(done, done);
    return reading;
  }

  async #read({ buffer, first, count }: WordSpan<TextureHandle>, op: string): Promise<Words> {
    try {
      return wordsOf(await this.#textures.read(buffer, first, count));
    } catch (cause) {
      if (this.isLost) throw lostError(op, lost);
      throw cause instanceof DeviceError ? cause : runError(op, cause);
    }
  }

  async synchronize(): Promise<void> {
    await this.#textures.finished();
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#reads);
    this.#closed = true;
    this.#kernels.clear();
    this.pool.trim();
    this.#spares.trim();
    this.#textures.delete(this.#nothing);
    this.#textures.destroy();
    await this.#translator.destroy();
    releaseContext(this.#gl);
  }
}

const lost: LostInfo = { reason: 'unknown', message: 'the WebGL context was lost' };
